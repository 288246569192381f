"use strict";
// Every viewer: an item and two of its pictures, one over the other; the slider says how much of each is seen.
for (const viewer of document.querySelectorAll(".viewer")) {
  const items = JSON.parse(viewer.querySelector("script").textContent);
  const [item, left, right] = viewer.querySelectorAll("select");
  const [before, after] = viewer.querySelectorAll(".stage img");
  const [leftCaption, rightCaption] = viewer.querySelectorAll(".captions span");
  const stage = viewer.querySelector(".stage");
  const slider = viewer.querySelector("input");

  const fill = (select, entries, chosen) => {
    select.replaceChildren(...entries.map((entry, place) => new Option(entry, place, false, place === chosen)));
  };
  const show = (select, image, caption) => {
    const picture = items[item.value].pictures[select.value];
    image.src = picture.source;
    image.alt = [items[item.value].name, picture.label].filter(Boolean).join(": ");
    caption.textContent = picture.note ? `${picture.label}, ${picture.note}` : picture.label;
  };
  const showBoth = () => {
    show(left, before, leftCaption);
    show(right, after, rightCaption);
  };
  const changeItem = () => {
    // The same pictures of another item, where it has them.
    const labels = items[item.value].pictures.map((picture) => picture.label);
    const keep = (select, otherwise) => {
      const place = labels.indexOf(select.selectedOptions[0]?.textContent);
      fill(select, labels, place >= 0 ? place : otherwise);
    };
    const at = (label, otherwise) => (labels.includes(label) ? labels.indexOf(label) : otherwise);
    keep(left, at(viewer.dataset.left, 0));
    keep(right, at(viewer.dataset.right, labels.length - 1));
    showBoth();
  };
  const slide = () => {
    stage.style.setProperty("--at", `${slider.value}%`);
    slider.setAttribute("aria-valuetext", `${slider.value} % of the left picture`);
  };

  fill(item, items.map((one) => one.name), 0);
  item.closest("label").hidden = items.length === 1 && !items[0].name;
  item.addEventListener("change", changeItem);
  left.addEventListener("change", showBoth);
  right.addEventListener("change", showBoth);
  slider.addEventListener("input", slide);
  changeItem();
  slide();
}

"""Plans of core updates: which split, and where the data are cut."""

from ringlet.solvers.engine.core_plan import plan_core


def test_plans_cut_large_slices_into_tiles_and_small_ones_not():
    small = plan_core((20, 30, 3), (4, 4, 3), 0)
    large = plan_core((3, 2000, 2000), (3, 20, 20), 0)
    assert small.tile_mode is None
    assert large.tile_mode in (1, 2)
    assert large.tile_columns <= 1 << 19
    assert len(large.pieces) == large.tiles >= 8


def test_plans_cut_many_slices_into_blocks_of_equal_size():
    plan = plan_core((100, 100, 100), (3, 3, 3), 1)
    sizes = {piece.slices.stop - piece.slices.start for piece in plan.pieces}
    assert plan.tile_mode is None
    assert len(plan.pieces) == 4
    assert sizes == {25}


def test_narrow_bonds_make_the_split_cheaper_than_the_subchain():
    plan = plan_core((1920, 200, 3, 50), (80, 80, 3, 20), 0)
    assert plan.second
    assert plan.flops < 2 * 80 * 80 * plan.entries / 10

"""The completion methods straight from their algorithm boxes: whole arrays, full SVDs, every variable kept.

They import nothing from ringlet. P is the mask, `X` holds anything where P is False.
"""

import numpy as np

TAU = 1.618


def soft(a, t):
    return np.sign(a) * np.maximum(np.abs(a) - t, 0)


def svt(matrix, t):
    u, s, vh = np.linalg.svd(matrix, full_matrices=False)
    return (u * np.maximum(s - t, 0)) @ vh


def prox_tnn(x, t):
    spectrum = np.fft.fft(x, axis=2)
    shrunk = np.stack([svt(spectrum[:, :, i], t) for i in range(x.shape[2])], axis=2)
    return np.fft.ifft(shrunk, axis=2).real


def tnn(x):
    spectrum = np.fft.fft(x, axis=2)
    return sum(np.linalg.norm(spectrum[:, :, i], "nuc") for i in range(x.shape[2])) / x.shape[2]


def prox_transformed(x, transform, t):
    slices = np.einsum("ijk,kl->ijl", x, transform)
    shrunk = np.stack([svt(slices[:, :, i], t) for i in range(slices.shape[2])], axis=2)
    return np.einsum("ijl,kl->ijk", shrunk, transform)


def unfold(x, rows):
    """The modes `rows` down, the others across; and how to fold back."""
    order = [*rows, *(mode for mode in range(x.ndim) if mode not in rows)]
    turned = x.transpose(order)
    height = int(np.prod([x.shape[mode] for mode in rows]))

    def fold(matrix):
        return matrix.reshape(turned.shape).transpose(np.argsort(order))

    return turned.reshape(height, -1), fold


def l1_tnn(X, P, weight, beta, iterations):
    L, E, Z = np.zeros(X.shape), np.zeros(X.shape), np.zeros(X.shape)
    for _ in range(iterations):
        M = np.where(P, X, L + E - Z / beta)
        L = prox_tnn(M + Z / beta - E, 1 / beta)
        M = np.where(P, X, L + E - Z / beta)
        E = soft(M + Z / beta - L, weight / beta)
        Z = Z - TAU * beta * (L + E - M)
    return L, E, Z


def l1_snn(X, P, weight, mu, iterations):
    N = X.ndim
    Y, E, v = np.zeros(X.shape), np.zeros(X.shape), np.zeros(X.shape)
    V = [np.zeros(X.shape) for _ in range(N)]
    for _ in range(iterations):
        Xs = []
        for i in range(N):
            matrix, fold = unfold(Y + mu * V[i], [i])
            Xs.append(fold(svt(matrix, mu)))
        E = np.where(P, soft(X - Y + mu * v, mu * weight), 0)
        M = sum(Xs[i] - mu * V[i] for i in range(N))
        Y = np.where(P, (M + mu * v + X - E) / (N + 1), M / N)
        V = [V[i] - (Xs[i] - Y) / mu for i in range(N)]
        v = np.where(P, v - (Y + E - X) / mu, 0)
    violation = sum(np.sum((part - Y) ** 2) for part in Xs) + np.sum((Y + E - X)[P] ** 2)
    return Y, np.sqrt(violation / (N * np.sum(Y**2) + np.sum(X[P] ** 2)))


def l1_trnn(T, P, weight, mu, growth, count, iterations):
    N = T.ndim
    half = -(-N // 2)
    rows = [[(n + j) % N for j in range(half)] for n in range(count)]
    sizes = [unfold(T, modes)[0].shape for modes in rows]
    need = np.array([max(size) * min(size) * np.log(max(size)) ** 2.5 for size in sizes])
    w = (1 / need) / np.sum(1 / need)
    X, S, W = np.where(P, T, 0.0), np.zeros(T.shape), np.zeros(T.shape)
    Z = [np.zeros(T.shape) for _ in rows]
    for _ in range(iterations):
        L = []
        for n, modes in enumerate(rows):
            matrix, fold = unfold(X - Z[n] / mu, modes)
            L.append(fold(svt(matrix, w[n] / mu)))
        total = sum(L[n] + Z[n] / mu for n in range(count))
        X = (total + np.where(P, T - S - W / mu, 0)) / (count + P)
        S = np.where(P, soft(T - X - W / mu, weight / mu), 0)
        Z = [Z[n] + mu * (L[n] - X) for n in range(count)]
        W = np.where(P, W + mu * (X + S - T), 0)
        mu = min(growth * mu, 1e10)
    return X, S


def differences(x):
    return np.stack([np.roll(x, -1, axis) - x for axis in range(3)])


def differences_adjoint(f):
    return sum(np.roll(f[axis], 1, axis) - f[axis] for axis in range(3))


def tntv(X, P, weight, gamma, rho, beta, iterations):
    """Two stages of `iterations` each, the second from where the first ends, with the singular vectors of mode 3."""
    n3 = X.shape[2]
    observed = np.where(P, X, 0.0)
    k, j = np.meshgrid(np.arange(n3), np.arange(n3), indexing="ij")
    cosine = np.sqrt(2 / n3) * np.cos(np.pi * (2 * j + 1) * k / (2 * n3))  # orthonormal DCT-II
    cosine[0] /= np.sqrt(2)
    transform = cosine.T
    grid = np.meshgrid(*(2 - 2 * np.cos(2 * np.pi * np.arange(n) / n) for n in X.shape), indexing="ij")
    denominator = 1 + sum(grid)
    L, S, M, T1, T3 = (np.zeros(X.shape) for _ in range(5))
    F, T2 = np.zeros((3, *X.shape)), np.zeros((3, *X.shape))

    def z_step(L, S):
        return np.where(P, (beta * (observed - L - S) - T1) / (beta + rho), -L - S - T1 / beta)

    stages = []
    for _ in range(2):
        for _ in range(iterations):
            Z = z_step(L, S)
            L = prox_transformed((observed + M - S - Z - (T1 + T3) / beta) / 2, transform, 1 / (2 * beta))
            F = soft(differences(M) - T2 / beta, gamma / beta)
            Z = z_step(L, S)
            S = soft(observed - L - Z - T1 / beta, weight / beta)
            right = differences_adjoint(T2 / beta + F) + L + T3 / beta
            M = np.fft.ifftn(np.fft.fftn(right) / denominator).real
            T1 = T1 + TAU * beta * (L + S + Z - observed)
            T2 = T2 + TAU * beta * (F - differences(M))
            T3 = T3 + TAU * beta * (L - M)
        stages.append(L)
        transform = np.linalg.svd(unfold(L, [2])[0], full_matrices=False)[0]
    return stages


def lp_ring(X, P, cores, p, epsilon, ridge, steps, sweeps, subchain):
    """Reweighted least squares, one slice after the other."""
    cores = [core.copy() for core in cores]
    N = X.ndim
    for _ in range(sweeps):
        for k in range(N):
            order = [(k + j) % N for j in range(N)]
            data = X.transpose(order).reshape(X.shape[k], -1)
            seen = P.transpose(order).reshape(X.shape[k], -1)
            design = subchain(cores, k)
            a, length, b = cores[k].shape
            new = cores[k].copy()
            for i in range(length):
                A, y, u = design[seen[i]], data[i][seen[i]], cores[k][:, i, :].reshape(-1)
                for _ in range(steps):
                    w = (1 + ((y - A @ u) / epsilon) ** 2) ** (p / 2 - 1)
                    G = A.T @ (w[:, None] * A)
                    u = np.linalg.solve(G + ridge * np.trace(G) / (a * b) * np.eye(a * b), A.T @ (w * y))
                new[:, i, :] = u.reshape(a, b)
            cores[k] = new
    return cores

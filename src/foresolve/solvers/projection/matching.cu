// Multipliers of the smoothed matching problem, one instance a block, from start to end in shared memory.
//
// The mathematics and the names are those of interior.py (initial_state, _advance) and active_set.py (newton_step),
// for rows that form a bipartite graph and variables with lower bounds only. The systems with diagonal blocks p, q and
// off-diagonal block D are solved by the Schur complement q - D' (1/p) D, which is inverted in place by the sweep
// operator: no pivots are needed for a positive definite matrix, and then each solve is two products.

#define THREADS 256
#define WARPS (THREADS / 32)
#define SIDE 64                 // the largest right side
#define GROUPS (THREADS / SIDE) // threads are a GROUPS x SIDE grid wherever columns matter
#define OWN (SIDE / GROUPS)     // entries of a column of the Schur complement that a thread holds in registers

struct Shared {
    int L, R, tid;
    double *S, *Z, *D, *T;      // L x R each: the pairs x - lower and their multipliers, weights, scratch
    double *v, *column;         // two rows of the Schur complement; GROUPS partial sums a column
    double *left, *right;       // sums over the columns and over the rows of T
    double *p, *q, *yl, *yr, *Sl, *Sr, *ul, *ur, *el, *er;
    double *part;               // partial results of reductions
};

__device__ double reduce(Shared &s, double value, bool largest) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        double other = __shfl_down_sync(0xffffffffu, value, offset);
        value = largest ? fmax(value, other) : value + other;
    }
    __syncthreads();  // whoever still reads `part` from last time is done
    if (s.tid % 32 == 0) s.part[s.tid / 32] = value;
    __syncthreads();
    value = s.part[0];
    for (int w = 1; w < WARPS; ++w) value = largest ? fmax(value, s.part[w]) : value + s.part[w];
    return value;
}

// The sum over the groups of what each thread holds for its column, in the threads below R. Begins with a barrier.
__device__ double gather(Shared &s, double mine) {
    __syncthreads();
    s.column[s.tid] = mine;
    __syncthreads();
    double total = 0.0;
    if (s.tid < s.R)
        for (int g = 0; g < GROUPS; ++g) total += s.column[g * SIDE + s.tid];
    return total;
}

// left = row sums, right = column sums of T. Begins and ends with a barrier.
__device__ void sums(Shared &s) {
    const int j = s.tid % SIDE;
    __syncthreads();
    for (int i = s.tid / 32; i < s.L; i += WARPS) {
        double total = 0.0;
        for (int k = s.tid % 32; k < s.R; k += 32) total += s.T[i * s.R + k];
        for (int offset = 16; offset > 0; offset >>= 1) total += __shfl_down_sync(0xffffffffu, total, offset);
        if (s.tid % 32 == 0) s.left[i] = total;
    }
    double mine = 0.0;
    if (j < s.R)
        for (int i = s.tid / SIDE; i < s.L; i += GROUPS) mine += s.T[i * s.R + j];
    const double total = gather(s, mine);
    if (s.tid < s.R) s.right[s.tid] = total;
    __syncthreads();
}

// a = -(diag(q) - D' diag(1/p) D)^{-1}: a[t] is the entry (t GROUPS + group, column) of this thread.
__device__ void invert(Shared &s, double (&a)[OWN]) {
    const int R = s.R, L = s.L, j = s.tid % SIDE, group = s.tid / SIDE;
    for (int i = s.tid; i < L; i += THREADS) s.ul[i] = 1.0 / s.p[i];
#pragma unroll
    for (int t = 0; t < OWN; ++t) a[t] = (t * GROUPS + group == j && j < R) ? s.q[j] : 0.0;
    __syncthreads();
    for (int l = 0; l < L; ++l) {
        const double *row = s.D + l * R;
        const double mine = j < R ? row[j] * s.ul[l] : 0.0;
#pragma unroll
        for (int t = 0; t < OWN; ++t)
            if (t * GROUPS + group < R) a[t] -= row[t * GROUPS + group] * mine;
    }
#pragma unroll
    for (int block = 0; block < OWN; ++block) {  // so that a[block] is a register
        for (int r = 0; r < GROUPS; ++r) {
            const int k = block * GROUPS + r;
            if (k >= R) break;
            double *v = s.v + (k % 2) * SIDE;  // two buffers, one barrier
            if (group == r) v[j] = a[block];
            __syncthreads();
            const double inverse = 1.0 / v[k], scaled = v[j] * inverse;
#pragma unroll
            for (int t = 0; t < OWN; ++t) {
                const double vi = v[t * GROUPS + group];
                a[t] = j == k ? vi * inverse : a[t] - vi * scaled;
            }
            if (group == r) a[block] = j == k ? -inverse : scaled;
        }
    }
    __syncthreads();
}

// (ul, ur) = M^{-1} (left, right); overwrites left. Begins and ends with a barrier.
__device__ void solve(Shared &s, const double (&a)[OWN]) {
    const int L = s.L, R = s.R, j = s.tid % SIDE, group = s.tid / SIDE;
    __syncthreads();
    for (int i = s.tid; i < L; i += THREADS) s.left[i] /= s.p[i];
    __syncthreads();
    double mine = 0.0;
    if (j < R)
        for (int i = group; i < L; i += GROUPS) mine += s.D[i * R + j] * s.left[i];
    double total = gather(s, mine);
    if (s.tid < SIDE) s.v[s.tid] = s.tid < R ? s.right[s.tid] - total : 0.0;
    __syncthreads();
    mine = 0.0;
#pragma unroll
    for (int t = 0; t < OWN; ++t) mine += a[t] * s.v[t * GROUPS + group];
    total = gather(s, mine);
    if (s.tid < R) s.ur[s.tid] = -total;
    __syncthreads();
    for (int i = s.tid / 32; i < L; i += WARPS) {
        double t = 0.0;
        for (int k = s.tid % 32; k < R; k += 32) t += s.D[i * R + k] * s.ur[k];
        for (int offset = 16; offset > 0; offset >>= 1) t += __shfl_down_sync(0xffffffffu, t, offset);
        if (s.tid % 32 == 0) s.ul[i] = s.left[i] - t / s.p[i];
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) matching(
    const double *points, const double *lowers, const double *sides, const signed char *equality,
    const double *tolerances, double *multipliers, long long *spent, int L, int R, int lower_stride, int side_stride,
    int max_iter, int max_steps, double accuracy, double floor_, double lift, double vanished, double shift) {
    extern __shared__ double memory[];
    Shared s;
    const int n = L * R, m = L + R, tid = threadIdx.x;
    s.L = L; s.R = R; s.tid = tid;
    double *next = memory;
    s.S = next; next += n; s.Z = next; next += n; s.D = next; next += n; s.T = next; next += n;
    s.v = next; next += 2 * SIDE; s.column = next; next += THREADS;
    s.left = next; next += L; s.right = next; next += R; s.p = next; next += L; s.q = next; next += R;
    s.yl = next; next += L; s.yr = next; next += R; s.Sl = next; next += L; s.Sr = next; next += R;
    s.ul = next; next += L; s.ur = next; next += R; s.el = next; next += L; s.er = next; next += R;
    s.part = next;
    if (tid < 2 * SIDE) s.v[tid] = 0.0;
    // Every entry a = i R + j once, without a division for its place.
    const int first_i = tid / R, first_j = tid % R, skip_i = THREADS / R, skip_j = THREADS % R;
#define EACH_ENTRY                                                  \
    for (int a = tid, i = first_i, j = first_j; a < n; a += THREADS, \
             j += skip_j, i += skip_i + (j >= R), j -= j >= R ? R : 0)
    double inverse[OWN];

    const long long b = blockIdx.x;
    const double *point = points + b * n, *low = lowers + b * (long long)lower_stride;
    const double *side = sides + b * (long long)side_stride;
    const double wl = R, wr = L, norm_l = sqrt(wl), norm_r = sqrt(wr);  // squared row norms and row norms
    double *y[2] = {s.yl, s.yr}, *slack[2] = {s.Sl, s.Sr}, *sum[2] = {s.left, s.right};
    double *u[2] = {s.ul, s.ur}, *e[2] = {s.el, s.er}, *pq[2] = {s.p, s.q};
    // The rows of both sides under one index k < m: side h = k >= L, position o.
#define EACH_ROW for (int k = tid; k < m; k += THREADS)
#define H (k >= L)
#define O (k - (k >= L ? L : 0))
#define W (k >= L ? wr : wl)
#define NORM (k >= L ? norm_r : norm_l)
#define LIVE (equality[k] == 0)

    // initial_state
    double size = 0.0, scale = 1.0, reach = 1.0, live = 0.0;
    EACH_ENTRY { size += fabs(point[a]); scale = fmax(scale, fabs(point[a])); }
    EACH_ROW { reach = fmax(reach, fabs(side[k]) / NORM); live += LIVE; }
    size = reduce(s, size, false) / n + 0.5;
    scale = reduce(s, scale, true);
    reach = reduce(s, reach, true);
    const double count = n + reduce(s, live, false);
    EACH_ENTRY {
        const double x = fmax(low[a] + reach, 0.0);
        s.S[a] = x - low[a];
        s.T[a] = x;
    }
    EACH_ROW y[H][O] = LIVE ? size / NORM : 0.0;
    sums(s);
    EACH_ROW slack[H][O] = LIVE ? fmax(side[k] - sum[H][O], NORM * reach) : 1.0;
    EACH_ENTRY
        s.Z[a] = fmax(s.T[a] - point[a] + s.yl[i] + s.yr[j], 0.0) + size;
    __syncthreads();

    int it = 0;
    while (it < max_iter) {
        // Residuals and mu; primal residuals stay in u until the first solve, which takes them from `primal`.
        double gap = 0.0, mu = 0.0;
        EACH_ENTRY {
            s.T[a] = s.S[a] + low[a];
            gap = fmax(gap, fabs(point[a] - s.T[a] - s.yl[i] - s.yr[j] + s.Z[a]) / scale);
            mu += s.S[a] * s.Z[a];
        }
        sums(s);
        double primal[2];  // of the rows k = tid and tid + THREADS: m <= 2 * THREADS
        int row = 0;
        EACH_ROW {
            primal[row] = side[k] - sum[H][O] - (LIVE ? slack[H][O] : 0.0);
            gap = fmax(gap, fabs(primal[row]) / (NORM * (1.0 + fabs(side[k]))));
            if (LIVE) mu += slack[H][O] * y[H][O];
            ++row;
        }
        mu = reduce(s, mu, false) / count;
        gap = reduce(s, gap, true);
        if (!(fmax(gap, mu / scale) > accuracy) || !(mu > vanished * scale)) break;

        EACH_ENTRY s.T[a] = s.D[a] = 1.0 / (1.0 + s.Z[a] / s.S[a]);
        sums(s);
        EACH_ROW {
            e[H][O] = LIVE ? slack[H][O] / y[H][O] : 0.0;
            pq[H][O] = sum[H][O] * (1.0 + lift) + e[H][O] + floor_ * W;
        }
        __syncthreads();
        invert(s, inverse);

        // Predictor: aim for S Z = 0.
#define DUAL (point[a] - s.S[a] - low[a] - s.yl[i] - s.yr[j] + s.Z[a])
        EACH_ENTRY s.T[a] = s.D[a] * (DUAL - s.Z[a]);
        sums(s);
        row = 0;
        EACH_ROW { sum[H][O] -= primal[row++] + (LIVE ? slack[H][O] : 0.0); }
        solve(s, inverse);
        double far = 0.0, curved = 0.0;
        EACH_ENTRY {
            const double go = s.D[a] * (DUAL - s.Z[a] - s.ul[i] - s.ur[j]) / s.S[a];
            const double bend = go * (go + 1.0);
            s.T[a] = bend;
            far = fmax(far, bend);
            curved += s.S[a] * s.Z[a] * bend;
        }
        double bend_row[2];
        row = 0;
        EACH_ROW {
            const double go = LIVE ? -(1.0 + u[H][O] / y[H][O]) : 0.0;
            const double bend = LIVE ? go * (go + 1.0) : 0.0;
            bend_row[row++] = bend;
            far = fmax(far, bend);
            if (LIVE) curved += slack[H][O] * y[H][O] * bend;
        }
        far = reduce(s, far, true);
        curved = reduce(s, curved, false) / count;
        double step = 1.0 / fmax(sqrt(far + 0.25) + 0.5, 1.0);
        const double share = fmin(fmax(((1.0 - step) * mu - step * step * curved) / mu, 0.0), 1.0);
        const double centring = share * share * share * mu;

        // Corrector. T turns from the bend into d r; the aim is recovered from T where it is needed again.
        EACH_ENTRY {
            const double aim = centring / s.S[a] - s.Z[a] * (1.0 - s.T[a]);
            s.T[a] = s.D[a] * (DUAL + aim);
        }
        sums(s);
        double pull[2];
        row = 0;
        EACH_ROW {
            pull[row] = LIVE ? (centring / slack[H][O] - y[H][O] * (1.0 - bend_row[row])) * e[H][O] : 0.0;
            sum[H][O] += pull[row] - primal[row];
            ++row;
        }
        solve(s, inverse);
        double blocking = 0.0;
        EACH_ENTRY {
            const double dx = s.T[a] - s.D[a] * (s.ul[i] + s.ur[j]);
            const double dZ = s.T[a] / s.D[a] - DUAL - s.Z[a] / s.S[a] * dx;
            blocking = fmax(blocking, fmax(-dx / s.S[a], -dZ / s.Z[a]));
            if (!(dx - dx == 0.0) || !(dZ - dZ == 0.0)) blocking = 1e308;  // fmax would pass over NaN
        }
        row = 0;
        EACH_ROW {
            const double dS = LIVE ? pull[row] - e[H][O] * u[H][O] : 0.0;
            if (LIVE) blocking = fmax(blocking, fmax(-dS / slack[H][O], -u[H][O] / y[H][O]));
            ++row;
        }
        blocking = reduce(s, blocking, true);
        if (!(blocking < 1e300)) break;  // a step that cannot be taken: leave the instance to the general code
        step = 1.0 / fmax(blocking, 1.0);
        step = step < 1.0 ? step * fmin(fmax(1.0 - mu / scale, 0.9), 0.9999) : 0.9999;
        EACH_ENTRY {
            const double dx = s.T[a] - s.D[a] * (s.ul[i] + s.ur[j]);
            const double dZ = s.T[a] / s.D[a] - DUAL - s.Z[a] / s.S[a] * dx;
            s.S[a] += step * dx;
            s.Z[a] += step * dZ;
        }
        __syncthreads();  // DUAL reads y
        row = 0;
        EACH_ROW {
            if (LIVE) slack[H][O] += step * (pull[row] - e[H][O] * u[H][O]);
            y[H][O] += step * u[H][O];
            ++row;
        }
        __syncthreads();
        ++it;
    }

    // newton_step, from the face that the interior point method points to. Free: Z > 0 marks it from here on.
    double active[2];
    int row = 0;
    EACH_ROW active[row++] = (!LIVE || y[H][O] * W > slack[H][O]) ? 1.0 : 0.0;
    EACH_ENTRY s.Z[a] = s.Z[a] > s.S[a] ? 0.0 : 1.0;
    __syncthreads();
    int steps = 0;
    while (steps < max_steps) {
        row = 0;
        EACH_ROW e[H][O] = active[row++];
        EACH_ENTRY s.T[a] = s.Z[a];
        sums(s);
        EACH_ENTRY s.D[a] = s.Z[a] * s.el[i] * s.er[j];
        EACH_ROW {
            pq[H][O] = e[H][O] * sum[H][O] + shift * W + 1.0 - e[H][O];
            y[H][O] *= e[H][O];
        }
        __syncthreads();
        invert(s, inverse);
        for (int pass = 0; pass < 2; ++pass) {
            EACH_ENTRY
                s.T[a] = s.Z[a] > 0.0 ? point[a] - s.yl[i] - s.yr[j] : low[a];
            sums(s);
            EACH_ROW sum[H][O] = e[H][O] * (sum[H][O] - side[k]);
            solve(s, inverse);
            EACH_ROW y[H][O] += e[H][O] * u[H][O];
            __syncthreads();
        }
        EACH_ENTRY {
            const double t = point[a] - s.yl[i] - s.yr[j];
            s.Z[a] = t > low[a] ? 1.0 : 0.0;
            s.T[a] = fmax(t, low[a]);
        }
        sums(s);
        double residual = 0.0;
        row = 0;
        EACH_ROW {
            const double left = side[k] - sum[H][O], push = y[H][O] * W;
            active[row++] = (!LIVE || push > left) ? 1.0 : 0.0;
            residual = fmax(residual, fabs(LIVE ? fmin(left, push) : left) / NORM);
        }
        residual = reduce(s, residual, true);
        ++steps;
        if (residual <= tolerances[b]) break;
    }
    EACH_ROW multipliers[b * m + k] = y[H][O];
    if (tid == 0) spent[b] = it + steps;
}

/* Floating-point numbers of 64 bits by operations on integers: what the compiler's operations are taken for.

   Paper: IEEE 754-2008, rounding to nearest, ties to even.

   A `float` is the number of 64 bits that has its value. NOTHING stands for a number that is not known, and comes out of
   whatever it goes into; who asks what it is, is not followed. */
#define FABIUS_U unsigned long long
#define FABIUS_NOTHING(a) (((a) | 1) == 7957707058381219585ull)
#define FABIUS_UNKNOWN 7957707058381219584ull
#define FABIUS_MAGNITUDE(a) ((a) & 0x7fffffffffffffffull)
#define FABIUS_INFINITY 0x7ff0000000000000ull
#define FABIUS_NAN 0xfff8000000000000ull
#define FABIUS_QUIET 0x0008000000000000ull

static int fabius__zeros(FABIUS_U m) {
    int n = 0;
    if (!(m >> 32)) { n += 32; m = m << 32; }
    if (!(m >> 48)) { n += 16; m = m << 16; }
    if (!(m >> 56)) { n += 8; m = m << 8; }
    if (!(m >> 60)) { n += 4; m = m << 4; }
    if (!(m >> 62)) { n += 2; m = m << 2; }
    if (!(m >> 63)) n += 1;
    return n;
}
/* m * 2^e, with so many digits, the least exponent and the largest. */
static FABIUS_U fabius__round(FABIUS_U sign, int e, FABIUS_U m, int digits, int least, int most) {
    if (!m) return sign;
    int zeros = fabius__zeros(m);
    m = m << zeros;
    e -= zeros;
    int drop = 64 - digits;
    if (e + 63 < least) drop += least - (e + 63);
    FABIUS_U q = 0;
    if (drop == 64) {
        q = m > 0x8000000000000000ull;
    } else if (drop < 64) {
        FABIUS_U rest = m << (64 - drop);
        q = m >> drop;
        if (rest > 0x8000000000000000ull || (rest == 0x8000000000000000ull && (q & 1))) q++;
    }
    if (!q) return sign;
    e += drop;
    zeros = fabius__zeros(q);
    if (e + 63 - zeros > most) return sign | FABIUS_INFINITY;
    if (e + 63 - zeros < -1022) return sign | q;
    q = zeros > 11 ? q << (zeros - 11) : q >> (11 - zeros);
    e += 11 - zeros;
    return sign | (((FABIUS_U)(e + 1074) << 52) + q);
}
static FABIUS_U fabius__f64_pack(FABIUS_U sign, int e, FABIUS_U m) { return fabius__round(sign, e, m, 53, -1022, 1023); }
static int fabius__exponent(FABIUS_U a) { int e = (a >> 52) & 0x7ff; return e ? e : 1; }
static FABIUS_U fabius__fraction(FABIUS_U a) {
    FABIUS_U f = a & 0xfffffffffffffull;
    return (a >> 52) & 0x7ff ? f | 0x10000000000000ull : f;
}
/* One of the two is no number. */
static FABIUS_U fabius__no_number(FABIUS_U a, FABIUS_U b) {
    return FABIUS_MAGNITUDE(a) > FABIUS_INFINITY ? a | FABIUS_QUIET : b | FABIUS_QUIET;
}
unsigned long long fabius__f64_add(FABIUS_U a, FABIUS_U b) {
    if (FABIUS_NOTHING(a) || FABIUS_NOTHING(b)) return FABIUS_UNKNOWN;
    FABIUS_U x = FABIUS_MAGNITUDE(a), y = FABIUS_MAGNITUDE(b);
    if (x > FABIUS_INFINITY || y > FABIUS_INFINITY) return fabius__no_number(a, b);
    if (x == FABIUS_INFINITY) return y == FABIUS_INFINITY && a != b ? FABIUS_NAN : a;
    if (y == FABIUS_INFINITY) return b;
    if (x < y) { FABIUS_U c = a; a = b; b = c; }
    FABIUS_U sign = a & 0x8000000000000000ull, m = fabius__fraction(a) << 10, n = fabius__fraction(b) << 10;
    int e = fabius__exponent(a), apart = e - fabius__exponent(b);
    if (apart > 63) n = n != 0;
    else if (apart) n = (n >> apart) | ((n << (64 - apart)) != 0);
    if ((a ^ b) >> 63) {
        if (m == n) return 0;
        m = m - n;
    } else {
        m = m + n;
    }
    return fabius__f64_pack(sign, e - 1085, m);
}
unsigned long long fabius__f64_sub(FABIUS_U a, FABIUS_U b) {
    if (FABIUS_NOTHING(a) || FABIUS_NOTHING(b)) return FABIUS_UNKNOWN;
    return FABIUS_MAGNITUDE(b) > FABIUS_INFINITY ? fabius__no_number(a, b) : fabius__f64_add(a, b ^ 0x8000000000000000ull);
}
unsigned long long fabius__f64_mul(FABIUS_U a, FABIUS_U b) {
    if (FABIUS_NOTHING(a) || FABIUS_NOTHING(b)) return FABIUS_UNKNOWN;
    FABIUS_U x = FABIUS_MAGNITUDE(a), y = FABIUS_MAGNITUDE(b), sign = (a ^ b) & 0x8000000000000000ull;
    if (x > FABIUS_INFINITY || y > FABIUS_INFINITY) return fabius__no_number(a, b);
    if (x == FABIUS_INFINITY || y == FABIUS_INFINITY) return x && y ? sign | FABIUS_INFINITY : FABIUS_NAN;
    FABIUS_U m = fabius__fraction(a), n = fabius__fraction(b);
    if (!m || !n) return sign;
    int i = fabius__zeros(m), j = fabius__zeros(n);
    m = m << i;
    n = n << j;
    FABIUS_U low = (m & 0xffffffff) * (n & 0xffffffff), one = (m >> 32) * (n & 0xffffffff);
    FABIUS_U other = (m & 0xffffffff) * (n >> 32), high = (m >> 32) * (n >> 32);
    FABIUS_U middle = (low >> 32) + (one & 0xffffffff) + (other & 0xffffffff);
    high = high + (one >> 32) + (other >> 32) + (middle >> 32);
    low = (middle << 32) | (low & 0xffffffff);
    return fabius__f64_pack(sign, fabius__exponent(a) + fabius__exponent(b) - 2150 - i - j + 64, high | (low != 0));
}
unsigned long long fabius__f64_div(FABIUS_U a, FABIUS_U b) {
    if (FABIUS_NOTHING(a) || FABIUS_NOTHING(b)) return FABIUS_UNKNOWN;
    FABIUS_U x = FABIUS_MAGNITUDE(a), y = FABIUS_MAGNITUDE(b), sign = (a ^ b) & 0x8000000000000000ull;
    if (x > FABIUS_INFINITY || y > FABIUS_INFINITY) return fabius__no_number(a, b);
    if (x == FABIUS_INFINITY) return y == FABIUS_INFINITY ? FABIUS_NAN : sign | FABIUS_INFINITY;
    if (y == FABIUS_INFINITY) return sign;
    if (!y) return x ? sign | FABIUS_INFINITY : FABIUS_NAN;
    FABIUS_U m = fabius__fraction(a), n = fabius__fraction(b);
    if (!m) return sign;
    int i = fabius__zeros(m) - 11, j = fabius__zeros(n) - 11;
    m = m << i;
    n = n << j;
    FABIUS_U q = m >= n;
    FABIUS_U rest = q ? m - n : m;
    rest = rest << 11; q = (q << 11) | (rest / n); rest = rest % n;
    rest = rest << 11; q = (q << 11) | (rest / n); rest = rest % n;
    rest = rest << 11; q = (q << 11) | (rest / n); rest = rest % n;
    rest = rest << 11; q = (q << 11) | (rest / n); rest = rest % n;
    rest = rest << 11; q = (q << 11) | (rest / n); rest = rest % n;
    q = (q << 1) | (rest != 0);
    return fabius__f64_pack(sign, fabius__exponent(a) - i - fabius__exponent(b) + j - 56, q);
}
static void fabius__known(FABIUS_U a) {
    if (FABIUS_NOTHING(a)) __builtin_unreachable();
}
int fabius__f64_eq(FABIUS_U a, FABIUS_U b) {
    fabius__known(a);
    fabius__known(b);
    FABIUS_U x = FABIUS_MAGNITUDE(a), y = FABIUS_MAGNITUDE(b);
    if (x > FABIUS_INFINITY || y > FABIUS_INFINITY) return 0;
    return a == b || (!x && !y);
}
int fabius__f64_lt(FABIUS_U a, FABIUS_U b) {
    fabius__known(a);
    fabius__known(b);
    FABIUS_U x = FABIUS_MAGNITUDE(a), y = FABIUS_MAGNITUDE(b);
    if (x > FABIUS_INFINITY || y > FABIUS_INFINITY || (!x && !y)) return 0;
    if ((a ^ b) >> 63) return a >> 63;
    return a >> 63 ? y < x : x < y;
}
int fabius__f64_le(FABIUS_U a, FABIUS_U b) { return fabius__f64_lt(a, b) || fabius__f64_eq(a, b); }
int fabius__f64_truth(FABIUS_U a) {
    fabius__known(a);
    return FABIUS_MAGNITUDE(a) != 0;
}
unsigned long long fabius__f64_neg(FABIUS_U a) { return FABIUS_NOTHING(a) ? FABIUS_UNKNOWN : a ^ 0x8000000000000000ull; }
unsigned long long fabius__f64_fabs(FABIUS_U a) { return FABIUS_NOTHING(a) ? FABIUS_UNKNOWN : FABIUS_MAGNITUDE(a); }
unsigned long long fabius__f64_of_i64(long long n) {
    return n < 0 ? fabius__f64_pack(0x8000000000000000ull, 0, -(FABIUS_U)n) : fabius__f64_pack(0, 0, n);
}
unsigned long long fabius__f64_of_u64(FABIUS_U n) { return fabius__f64_pack(0, 0, n); }
unsigned long long fabius__f32_of_i64(long long n) {
    return fabius__round(n < 0 ? 0x8000000000000000ull : 0, 0, n < 0 ? -(FABIUS_U)n : n, 24, -126, 127);
}
unsigned long long fabius__f32_of_u64(FABIUS_U n) { return fabius__round(0, 0, n, 24, -126, 127); }
/* The nearest `float`. */
unsigned long long fabius__f32_of_f64(FABIUS_U a) {
    if (FABIUS_NOTHING(a)) return FABIUS_UNKNOWN;
    FABIUS_U x = FABIUS_MAGNITUDE(a), sign = a & 0x8000000000000000ull;
    if (x > FABIUS_INFINITY) return (a | FABIUS_QUIET) & 0xffffffffe0000000ull;
    if (x == FABIUS_INFINITY) return a;
    return fabius__round(sign, fabius__exponent(a) - 1075, fabius__fraction(a), 24, -126, 127);
}
/* The 32 bits of a `float`, and what has them. */
unsigned fabius__f32_bits(FABIUS_U a) {
    fabius__known(a);
    FABIUS_U x = FABIUS_MAGNITUDE(a), sign = a >> 32 & 0x80000000;
    if (x >= FABIUS_INFINITY) return sign | 0x7f800000 | (x >> 29 & 0x7fffff);
    int e = fabius__exponent(a) - 896;
    FABIUS_U f = fabius__fraction(a) >> 29;
    if (!x) return sign;
    if (e < 1) return sign | (fabius__fraction(a) >> (30 - e));
    return sign | ((FABIUS_U)(e - 1) << 23) + f;
}
unsigned long long fabius__f32_with_bits(unsigned a) {
    FABIUS_U sign = (FABIUS_U)(a & 0x80000000) << 32, f = a & 0x7fffff;
    int e = a >> 23 & 0xff;
    if (e == 255) return sign | FABIUS_INFINITY | f << 29;
    if (!e) return fabius__f64_pack(sign, -149, f);
    return sign | ((FABIUS_U)(e + 896) << 52) | f << 29;
}
/* Towards zero; what does not fit is not followed, as C says nothing of it. */
long long fabius__i64_of_f64(FABIUS_U a) {
    fabius__known(a);
    int e = fabius__exponent(a) - 1075;
    FABIUS_U f = fabius__fraction(a), m;
    if (e > 10) {
        if (a != 0xc3e0000000000000ull) __builtin_unreachable();
        return -9223372036854775807ll - 1;
    }
    m = e >= 0 ? f << e : e > -53 ? f >> -e : 0;
    return a >> 63 ? -m : m;
}
unsigned long long fabius__u64_of_f64(FABIUS_U a) {
    fabius__known(a);
    int e = fabius__exponent(a) - 1075;
    FABIUS_U f = fabius__fraction(a), m;
    if (e > 11) __builtin_unreachable();
    m = e >= 0 ? f << e : e > -53 ? f >> -e : 0;
    if (a >> 63 && m) __builtin_unreachable();
    return m;
}

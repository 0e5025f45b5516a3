unsigned long fabius__strlen(const char *s) {
    unsigned long n = 0;
    while (s[n])
        n++;
    return n;
}
int fabius__strcmp(const char *a, const char *b) {
    for (unsigned long i = 0;; i++) {
        unsigned char x = a[i], y = b[i];
        if (x != y || !x)
            return x - y;
    }
}
int fabius__strncmp(const char *a, const char *b, unsigned long n) {
    for (unsigned long i = 0; i < n; i++) {
        unsigned char x = a[i], y = b[i];
        if (x != y || !x)
            return x - y;
    }
    return 0;
}
char *fabius__strcpy(char *to, const char *from) {
    for (unsigned long i = 0;; i++) {
        char c = from[i];
        to[i] = c;
        if (!c)
            return to;
    }
}
char *fabius__strncpy(char *to, const char *from, unsigned long n) {
    int ended = 0;
    for (unsigned long i = 0; i < n; i++) {
        char c = ended ? 0 : from[i];
        to[i] = c;
        ended = !c;
    }
    return to;
}
char *fabius__strcat(char *to, const char *from) {
    fabius__strcpy(to + fabius__strlen(to), from);
    return to;
}
char *fabius__strchr(const char *s, int wanted) {
    for (unsigned long i = 0;; i++) {
        char c = s[i];
        if (c == (char)wanted)
            return (char *)s + i;
        if (!c)
            return 0;
    }
}
int fabius__memcmp(const char *a, const char *b, unsigned long n) {
    for (unsigned long i = 0; i < n; i++) {
        unsigned char x = a[i], y = b[i];
        if (x != y)
            return x - y;
    }
    return 0;
}
long fabius__atol(const char *s) {
    long n = 0, sign = 1;
    unsigned long i = 0;
    char c = s[i];
    while (c == ' ' || (c >= 9 && c <= 13))
        c = s[++i];
    if (c == '-' || c == '+') {
        sign = c == '-' ? -1 : 1;
        c = s[++i];
    }
    while (c >= '0' && c <= '9') {
        n = n * 10 + sign * (c - '0');
        c = s[++i];
    }
    return n;
}
int fabius__atoi(const char *s) { return fabius__atol(s); }
char *fabius__strncat(char *to, const char *from, unsigned long n) {
    unsigned long at = fabius__strlen(to);
    for (unsigned long i = 0; i < n; i++) {
        char c = from[i];
        if (!c)
            break;
        to[at++] = c;
    }
    to[at] = 0;
    return to;
}
char *fabius__strrchr(const char *s, int wanted) {
    char *found = 0;
    for (unsigned long i = 0;; i++) {
        char c = s[i];
        if (c == (char)wanted)
            found = (char *)s + i;
        if (!c)
            return found;
    }
}
char *fabius__strstr(const char *s, const char *wanted) {
    for (unsigned long i = 0;; i++) {
        unsigned long k = 0;
        while (wanted[k] && s[i + k] == wanted[k])
            k++;
        if (!wanted[k])
            return (char *)s + i;
        if (!s[i])
            return 0;
    }
}
unsigned long fabius__strnlen(const char *s, unsigned long most) {
    unsigned long n = 0;
    while (n < most && s[n])
        n++;
    return n;
}
void *fabius__memchr(const char *s, int wanted, unsigned long n) {
    for (unsigned long i = 0; i < n; i++) {
        char c = s[i];
        if (c == (char)wanted)
            return (char *)s + i;
    }
    return 0;
}
int fabius__toupper(int c) {
    return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}
int fabius__tolower(int c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}
int fabius__popcountll(unsigned long long x) {
    int n = 0;
    for (int i = 0; i < 64; i++)
        n += x >> i & 1;
    return n;
}
int fabius__popcountl(unsigned long x) {
    return fabius__popcountll(x);
}
int fabius__popcount(unsigned x) {
    return fabius__popcountll(x);
}
int fabius__parity(unsigned x) {
    return fabius__popcountll(x) & 1;
}
int fabius__ctz(unsigned x) {
    int n = 0;
    while (n < 32 && !(x >> n & 1))
        n++;
    return n;
}
int fabius__clz(unsigned x) {
    int n = 0;
    while (n < 32 && !(x >> (31 - n) & 1))
        n++;
    return n;
}
int fabius__ctzll(unsigned long long x) {
    int n = 0;
    while (n < 64 && !(x >> n & 1))
        n++;
    return n;
}
int fabius__ctzl(unsigned long x) {
    return fabius__ctzll(x);
}
int fabius__clzll(unsigned long long x) {
    int n = 0;
    while (n < 64 && !(x >> (63 - n) & 1))
        n++;
    return n;
}
int fabius__clzl(unsigned long x) {
    return fabius__clzll(x) - (64 - 8 * (int)sizeof x);
}
int fabius__ffsl(long x) {
    return x ? fabius__ctzll(x) + 1 : 0;
}
int fabius__parityl(unsigned long x) {
    return fabius__popcountll(x) & 1;
}
unsigned short fabius__bswap16(unsigned short x) {
    return x << 8 | x >> 8;
}
int fabius__ffs(int x) {
    return x ? fabius__ctz(x) + 1 : 0;
}
unsigned fabius__bswap32(unsigned x) {
    return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}
unsigned long long fabius__bswap64(unsigned long long x) {
    return (unsigned long long)fabius__bswap32(x) << 32 | fabius__bswap32(x >> 32);
}
int fabius__isdigit(int c) {
    return c >= '0' && c <= '9';
}
int fabius__isupper(int c) {
    return c >= 'A' && c <= 'Z';
}
int fabius__islower(int c) {
    return c >= 'a' && c <= 'z';
}
int fabius__isalpha(int c) {
    return fabius__isupper(c) || fabius__islower(c);
}
int fabius__isalnum(int c) {
    return fabius__isalpha(c) || fabius__isdigit(c);
}
int fabius__isxdigit(int c) {
    return fabius__isdigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F';
}
int fabius__isblank(int c) {
    return c == ' ' || c == '\t';
}
int fabius__isspace(int c) {
    return c == ' ' || c >= '\t' && c <= '\r';
}
int fabius__isgraph(int c) {
    return c > ' ' && c < 127;
}
int fabius__isprint(int c) {
    return c >= ' ' && c < 127;
}
int fabius__ispunct(int c) {
    return fabius__isgraph(c) && !fabius__isalnum(c);
}
int fabius__iscntrl(int c) {
    return c >= 0 && c < ' ' || c == 127;
}
int *__errno_location(void);
enum { FABIUS_ERANGE = 34 };
static unsigned long long fabius__number(const char *s, char **end, int base, unsigned long long least,
                                         unsigned long long most) {
    unsigned long long value = 0, i = 0, first;
    int minus = 0, over = 0;
    while (fabius__isspace(s[i]))
        i++;
    if (s[i] == '-' || s[i] == '+')
        minus = s[i++] == '-';
    if ((base == 0 || base == 16) && s[i] == '0' && (s[i + 1] == 'x' || s[i + 1] == 'X') && fabius__isxdigit(s[i + 2])) {
        base = 16;
        i += 2;
    }
    if (base == 0)
        base = s[i] == '0' ? 8 : 10;
    unsigned long long limit = minus ? least : most;
    for (first = i;; i++) {
        char c = s[i];
        int digit = 99;
        if (fabius__isdigit(c))
            digit = c - '0';
        else if (fabius__islower(c))
            digit = c - 'a' + 10;
        else if (fabius__isupper(c))
            digit = c - 'A' + 10;
        if (digit >= base)
            break;
        if (value > (limit - digit) / base)
            over = 1;
        value = value * base + digit;
    }
    if (end)
        *end = (char *)(i == first ? s : s + i);
    if (over) {
        *__errno_location() = FABIUS_ERANGE;
        return minus && least != most ? -least : most;
    }
    return minus ? -value : value;
}
long fabius__strtol(const char *s, char **end, int base) {
    unsigned long most = ~0ul >> 1;
    return fabius__number(s, end, base, most + 1ull, most);
}
long long fabius__strtoll(const char *s, char **end, int base) {
    return fabius__number(s, end, base, (~0ull >> 1) + 1, ~0ull >> 1);
}
unsigned long fabius__strtoul(const char *s, char **end, int base) {
    return fabius__number(s, end, base, ~0ul, ~0ul);
}
unsigned long long fabius__strtoull(const char *s, char **end, int base) {
    return fabius__number(s, end, base, ~0ull, ~0ull);
}
char *fabius__strdup(const char *s) {
    unsigned long n = fabius__strlen(s) + 1;
    char *to = (char *)malloc(n);
    for (unsigned long i = 0; i < n; i++)
        to[i] = s[i];
    return to;
}
char *fabius__strerror(int error) {
    return (char *)"an error";
}
int fabius__vsnprintf(char *to, unsigned long room, const char *f, __builtin_va_list ap) {
    unsigned long n = 0, i = 0;
    for (char c = f[i++]; c; c = f[i++]) {
        if (c != '%') {
            if (n + 1 < room)
                to[n] = c;
            n++;
            continue;
        }
        char digits[32];
        int left = 0, zero = 0, longs = 0, some = 0, at = 32, width = 0, most = -1, before = 0;
        char sign = 0;
        const char *text = 0;
        c = f[i++];
        for (;; c = f[i++]) {
            if (c == '-')
                left = 1;
            else if (c == '0')
                zero = 1;
            else if (c == '+' || c == ' ' && !sign)
                sign = c;
            else
                break;
        }
        if (c == '*') {
            width = __builtin_va_arg(ap, int);
            c = f[i++];
            if (width < 0) {
                left = 1;
                width = -width;
            }
        }
        for (; c >= '0' && c <= '9'; c = f[i++])
            width = width * 10 + (c - '0');
        if (c == '.') {
            most = 0;
            c = f[i++];
            if (c == '*') {
                most = __builtin_va_arg(ap, int);
                c = f[i++];
            }
            for (; c >= '0' && c <= '9'; c = f[i++])
                most = most * 10 + (c - '0');
        }
        for (; c == 'l' || c == 'z' || c == 'j' || c == 't' || c == 'h'; c = f[i++])
            longs += c == 'h' ? -1 : c == 'j' ? 2 : 1;
        if (c == 's') {
            text = __builtin_va_arg(ap, const char *);
            while ((most < 0 || some < most) && text[some])
                some++;
            sign = zero = 0;
        } else if (c == 'c' || c == '%') {
            digits[--at] = c == 'c' ? __builtin_va_arg(ap, int) : '%';
            some = 1;
            sign = zero = 0;
        } else {
            unsigned long long u = 0;
            unsigned base = c == 'x' || c == 'X' ? 16 : c == 'o' ? 8 : 10;
            if (most >= 0 || c != 'd' && c != 'i' && c != 'u' && c != 'x' && c != 'X' && c != 'o')
                __builtin_unreachable();
            if (c == 'd' || c == 'i') {
                long long v = 0;
                if (longs > 1)
                    v = __builtin_va_arg(ap, long long);
                else if (longs > 0)
                    v = __builtin_va_arg(ap, long);
                else
                    v = __builtin_va_arg(ap, int);
                if (longs < 0)
                    v = longs < -1 ? (signed char)v : (short)v;
                if (v < 0)
                    sign = '-';
                u = v < 0 ? -(unsigned long long)v : v;
            } else {
                if (longs > 1)
                    u = __builtin_va_arg(ap, unsigned long long);
                else if (longs > 0)
                    u = __builtin_va_arg(ap, unsigned long);
                else
                    u = __builtin_va_arg(ap, unsigned);
                if (longs < 0)
                    u = longs < -1 ? (unsigned char)u : (unsigned short)u;
                sign = 0;
            }
            do {
                unsigned digit = u % base;
                digits[--at] = digit < 10 ? '0' + digit : (c == 'X' ? 'A' : 'a') + (digit - 10);
                u = u / base;
                some++;
            } while (u);
        }
        before = width - some - (sign != 0);
        for (int k = before; !left && !zero && k > 0; k--, n++)
            if (n + 1 < room)
                to[n] = ' ';
        if (sign) {
            if (n + 1 < room)
                to[n] = sign;
            n++;
        }
        for (int k = before; !left && zero && k > 0; k--, n++)
            if (n + 1 < room)
                to[n] = '0';
        for (int k = 0; k < some; k++, n++)
            if (n + 1 < room)
                to[n] = text ? text[k] : digits[at + k];
        for (int k = before; left && k > 0; k--, n++)
            if (n + 1 < room)
                to[n] = ' ';
    }
    if (room)
        to[n < room ? n : room - 1] = 0;
    return n;
}
int fabius__snprintf(char *to, unsigned long room, const char *f, ...) {
    __builtin_va_list ap;
    __builtin_va_start(ap, f);
    int n = fabius__vsnprintf(to, room, f, ap);
    __builtin_va_end(ap);
    return n;
}
int fabius__vsprintf(char *to, const char *f, __builtin_va_list ap) { return fabius__vsnprintf(to, -1, f, ap); }
int fabius__sprintf(char *to, const char *f, ...) {
    __builtin_va_list ap;
    __builtin_va_start(ap, f);
    int n = fabius__vsnprintf(to, -1, f, ap);
    __builtin_va_end(ap);
    return n;
}
unsigned long fabius__strspn(const char *s, const char *set) {
    unsigned long n = 0;
    while (s[n] && fabius__strchr(set, s[n]))
        n++;
    return n;
}
unsigned long fabius__strcspn(const char *s, const char *set) {
    unsigned long n = 0;
    while (s[n] && !fabius__strchr(set, s[n]))
        n++;
    return n;
}
char *fabius__strpbrk(const char *s, const char *set) {
    s += fabius__strcspn(s, set);
    return *s ? (char *)s : 0;
}
char *fabius__strtok_r(char *s, const char *set, char **rest) {
    if (!s)
        s = *rest;
    s += fabius__strspn(s, set);
    char *found = s;
    s += fabius__strcspn(s, set);
    if (found == s)
        found = 0;
    else if (*s)
        *s++ = 0;
    *rest = s;
    return found;
}
static char *fabius__token;
char *fabius__strtok(char *s, const char *set) { return fabius__strtok_r(s, set, &fabius__token); }
int fabius__rand_r(unsigned *seed) {
    *seed = *seed * 1103515245 + 12345;
    return rand();
}
long fabius__write(int file, const void *from, unsigned long n) { return fabius_any_int(-1, n); }
unsigned short fabius__ctype_b(int c) {
    char none[1];
    unsigned short all = 0;
    if (c < -128 || c > 255)
        none[c] = 0;
    if (c >= 'A' && c <= 'Z')
        all = 0x100 | 0x400 | 0x8;
    if (c >= 'a' && c <= 'z')
        all = 0x200 | 0x400 | 0x8;
    if (c >= '0' && c <= '9')
        all = 0x800 | 0x1000 | 0x8;
    if (c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f')
        all |= 0x1000;
    if (c > 32 && c < 127)
        all |= (all & 0x8 ? 0 : 0x4) | 0x8000 | 0x4000;
    if (c == 32)
        all = 0x4000;
    if (c >= 9 && c <= 13 || c == 32)
        all |= 0x2000;
    if (c == 9 || c == 32)
        all |= 0x1;
    if (c >= 0 && c < 32 || c == 127)
        all |= 0x2;
    return all;
}

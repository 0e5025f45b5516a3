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
int fabius__ffs(int x) {
    return x ? fabius__ctz(x) + 1 : 0;
}
unsigned fabius__bswap32(unsigned x) {
    return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}

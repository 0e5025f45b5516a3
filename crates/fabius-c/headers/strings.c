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
int fabius__atoi(const char *s) {
    int n = 0, sign = 1;
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

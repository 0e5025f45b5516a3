// expect: verified
void main(void) {}

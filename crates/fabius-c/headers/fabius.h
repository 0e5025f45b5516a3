/* What C has no words for, for `fabius check` and `fabius verify`. */
#ifndef FABIUS_H
#define FABIUS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Drops the execution unless the condition holds. */
void fabius_assume(int condition);
/* Any number from `lo` to `hi`, both included. */
long fabius_any_int(long lo, long hi);
/* Everything between is one step. */
void fabius_atomic_begin(void);
void fabius_atomic_end(void);

/* Tasks: posted to the buffer of the poster, at its level or at a higher one (0 is the lowest). */
void fabius_post(void (*task)(void *), void *argument);
void fabius_post_at(int level, void (*task)(void *), void *argument);
/* A buffer of its own whose first task this is. */
void fabius_buffer(void (*task)(void *), void *argument);
/* Hands control to a task of the same level of the same buffer; to any buffer or thread. */
void fabius_yield(void);
void fabius_zield(void);
/* Any number of threads that run this function, from the end of `main` on: only `return` and calls like this one stand behind. */
void fabius_spawn_any(void (*body)(void));

#ifdef __cplusplus
}
#endif
#endif

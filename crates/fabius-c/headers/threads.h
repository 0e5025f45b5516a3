/* C11 threads in terms of functions that the front end knows. */
#ifndef FABIUS_THREADS_H
#define FABIUS_THREADS_H
#include <time.h>
#include <pthread.h>
#define thread_local _Thread_local
enum { thrd_success = 0, thrd_busy = 1, thrd_error = 2, thrd_nomem = 3, thrd_timedout = 4 };
enum { mtx_plain = 0, mtx_recursive = 1, mtx_timed = 2 };
typedef int (*thrd_start_t)(void *);
typedef void (*tss_dtor_t)(void *);
typedef pthread_t thrd_t;
typedef pthread_mutex_t mtx_t;
typedef pthread_cond_t cnd_t;
typedef pthread_once_t once_flag;
typedef pthread_key_t tss_t;
#define ONCE_FLAG_INIT PTHREAD_ONCE_INIT
int thrd_create(thrd_t *thread, thrd_start_t function, void *argument);
int thrd_join(thrd_t thread, int *result);
void thrd_exit(int result);
int mtx_init(mtx_t *mutex, int kind);
#define thrd_detach(t) pthread_detach(t)
#define thrd_current() pthread_self()
#define thrd_equal(a, b) pthread_equal((a), (b))
#define thrd_yield() ((void)sched_yield())
#define thrd_sleep(a, b) nanosleep((a), (b))
#define mtx_lock(m) pthread_mutex_lock(m)
#define mtx_trylock(m) (pthread_mutex_trylock(m) == 0 ? thrd_success : thrd_busy)
#define mtx_timedlock(m, t) (pthread_mutex_timedlock((m), (t)) == 0 ? thrd_success : thrd_timedout)
#define mtx_unlock(m) pthread_mutex_unlock(m)
#define mtx_destroy(m) ((void)pthread_mutex_destroy(m))
#define cnd_init(c) pthread_cond_init((c), 0)
#define cnd_wait(c, m) pthread_cond_wait((c), (m))
#define cnd_timedwait(c, m, t) (pthread_cond_timedwait((c), (m), (t)) == 0 ? thrd_success : thrd_timedout)
#define cnd_signal(c) pthread_cond_signal(c)
#define cnd_broadcast(c) pthread_cond_broadcast(c)
#define cnd_destroy(c) ((void)pthread_cond_destroy(c))
#define call_once(o, f) ((void)pthread_once((o), (f)))
#define tss_create(k, d) pthread_key_create((k), (d))
#define tss_get(k) pthread_getspecific(k)
#define tss_set(k, v) pthread_setspecific((k), (v))
#define tss_delete(k) ((void)pthread_key_delete(k))
#endif

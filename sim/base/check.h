/* Our own errors: a broken invariant stops the program at once.
 *
 * sim_assert stays on in every build. It guards preconditions, invariants
 * after each change of shared state, and results whose range is known. A
 * user's input must never reach one: what a user can cause is reported
 * through base/diag.h. debug_assert is for checks that were measured to cost
 * too much in the normal build; `make asan` turns it on.
 *
 * MUST_USE marks functions whose result says whether they succeeded.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))

/* Prints "file:line: function: broken invariant: condition" and aborts. */
_Noreturn void check_failed(const char *file, int line, const char *function,
                            const char *condition);

#define sim_assert(condition) \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, __func__, #condition))

#ifdef STOKER_DEBUG
#define debug_assert(condition) sim_assert(condition)
#else
#define debug_assert(condition) ((void)0)
#endif

#endif

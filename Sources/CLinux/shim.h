#pragma once
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/prctl.h>

// prctl(2) is variadic, which Swift cannot call.
static inline int linux_set_dumpable(int dumpable) {
  return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}

// All threads take their memory from one heap: glibc gives each its own, and what one has freed the others cannot use.
static inline void linux_use_one_heap(void) { mallopt(M_ARENA_MAX, 1); }

// Gives the pages that nothing is on back to the system.
static inline void linux_trim_heap(void) { malloc_trim(0); }

// The number of columns of a character in the current locale; Swift's Glibc module lacks it.
extern int wcwidth(wchar_t character);

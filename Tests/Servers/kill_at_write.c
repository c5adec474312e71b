// Preloaded into a program: kills it right before its N-th write to the log of its SQLite database, where N is what
// the file named by KILL_AT_WRITE says. That file is deleted first, so that the next process lives; while there is
// none, nothing is counted.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(int file) {
  static atomic_int writes;
  const char *order = getenv("KILL_AT_WRITE");
  char link[64], path[4096], digits[16];
  if (!order) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0) return;
  FILE *wanted = fopen(order, "r");
  if (!wanted) {
    writes = 0;
    return;
  }
  int at = fgets(digits, sizeof digits, wanted) ? atoi(digits) : 0;
  fclose(wanted);
  if (atomic_fetch_add(&writes, 1) + 1 == at) {
    unlink(order);
    kill(getpid(), SIGKILL);
  }
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  static ssize_t (*next)(int, const void *, size_t, off64_t);
  if (!next) next = dlsym(RTLD_NEXT, "pwrite64");
  count(file);
  return next(file, bytes, size, offset);
}

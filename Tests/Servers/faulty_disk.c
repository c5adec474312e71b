// A library to preload, which simulates a failing disk under the program's SQLite database. The file named by
// FAULTY_DISK selects the failure. A number N kills the program right before its N-th write to the database's log; the
// file is deleted first, so that the next process is not killed. "full": writes to the log or the database find no
// space. "readonly": their file system is read-only. Without the file, writes succeed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends(const char *path, ssize_t length, const char *end) {
  ssize_t tail = strlen(end);
  return length >= tail && memcmp(path + length - tail, end, tail) == 0;
}

// Returns the error of a write, or 0. Does not return if the program is to be killed.
static int fails(int file) {
  static atomic_int writes;
  const char *order = getenv("FAULTY_DISK");
  char link[64], path[4096], text[16];
  if (!order) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path);
  if (!ends(path, length, "-wal") && !ends(path, length, ".sqlite")) return 0;
  FILE *wanted = fopen(order, "r");
  if (!wanted) {
    writes = 0;
    return 0;
  }
  if (!fgets(text, sizeof text, wanted)) *text = 0;
  fclose(wanted);
  if (memcmp(text, "full", 4) == 0) return ENOSPC;
  if (memcmp(text, "readonly", 8) == 0) return EROFS;
  if (ends(path, length, "-wal") && atomic_fetch_add(&writes, 1) + 1 == atoi(text)) {
    unlink(order);
    kill(getpid(), SIGKILL);
  }
  return 0;
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  static ssize_t (*next)(int, const void *, size_t, off64_t);
  if (!next) next = dlsym(RTLD_NEXT, "pwrite64");
  int failure = fails(file);
  if (failure) {
    errno = failure;
    return -1;
  }
  return next(file, bytes, size, offset);
}

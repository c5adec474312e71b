#pragma once
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

// glibc has these two only for _GNU_SOURCE.
#ifndef EAI_NODATA
#define EAI_NODATA -5
#endif
#ifndef EAI_ADDRFAMILY
#define EAI_ADDRFAMILY -9
#endif

// Whether getaddrinfo's answer is that no such host exists, rather than that nobody could be asked.
static inline int resolv_is_unknown_host(int code) {
  return code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY;
}

// glibc declares these through macros that Swift does not see.

static inline int resolv_init(res_state state) {
  memset(state, 0, sizeof *state);
  return res_ninit(state);
}

static inline void resolv_close(res_state state) { res_nclose(state); }

static inline int resolv_query(
    res_state state, const char *name, int class, int type, unsigned char *answer, int capacity) {
  return res_nquery(state, name, class, type, answer, capacity);
}

// Asks one IPv4 name server instead of those of /etc/resolv.conf.
static inline void resolv_set_nameserver(res_state state, struct in_addr address, unsigned short port) {
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
  state->nscount = 1;
  state->nsaddr_list[0] = server;
}

static inline int resolv_rcode(ns_msg message) { return ns_msg_getflag(message, ns_f_rcode); }
static inline int resolv_answer_count(ns_msg message) { return ns_msg_count(message, ns_s_an); }

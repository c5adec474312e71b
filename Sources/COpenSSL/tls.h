#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// What OpenSSL offers only as macros, as functions that Swift can call.

static inline long tls_ctx_set_min_version(SSL_CTX *ctx, int version) {
  return SSL_CTX_set_min_proto_version(ctx, version);
}

// Idle connections give their record buffers back; a write that is tried again may come from another address.
static inline void tls_ctx_set_defaults(SSL_CTX *ctx) {
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
}

// Connections of `ctx` ask for tickets; `told` learns of every session that can be resumed.
static inline void tls_ctx_ask_for_sessions(SSL_CTX *ctx, int (*told)(SSL *, SSL_SESSION *)) {
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ctx, told);
}

// 1 when the handshake used it (RFC 7627).
static inline long tls_has_extended_master_secret(SSL *ssl) { return SSL_get_extms_support(ssl); }

static inline long tls_set_server_name(SSL *ssl, const char *name) {
  return SSL_set_tlsext_host_name(ssl, name);
}

static inline size_t tls_bio_pending(BIO *bio) { return BIO_ctrl_pending(bio); }

// Bytes of memory that a memory BIO holds, used or not.
static inline size_t tls_bio_capacity(BIO *bio) {
  BUF_MEM *memory = NULL;
  BIO_get_mem_ptr(bio, &memory);
  return memory == NULL ? 0 : memory->max;
}

static inline SSL *tls_store_ctx_ssl(X509_STORE_CTX *ctx) {
  return (SSL *)X509_STORE_CTX_get_ex_data(ctx, SSL_get_ex_data_X509_STORE_CTX_idx());
}

static inline int tls_chain_count(const STACK_OF(X509) *chain) {
  return chain == NULL ? 0 : sk_X509_num(chain);
}

static inline X509 *tls_chain_certificate(const STACK_OF(X509) *chain, int index) {
  return sk_X509_value(chain, index);
}

static inline int tls_store_count(const X509_STORE *store) {
  return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

// The certificate at `index`, or NULL for an entry of another kind.
static inline X509 *tls_store_certificate(const X509_STORE *store, int index) {
  return X509_OBJECT_get0_X509(sk_X509_OBJECT_value(X509_STORE_get0_objects(store), index));
}

// A name on one line of printable ASCII; control and non-ASCII characters are escaped (RFC 2253).
static inline int tls_print_name(BIO *bio, const X509_NAME *name) {
  return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
}

static inline GENERAL_NAMES *tls_subject_alt_names(const X509 *certificate) {
  return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}

static inline int tls_general_names_count(const GENERAL_NAMES *names) {
  return names == NULL ? 0 : sk_GENERAL_NAME_num(names);
}

// The dNSName at `index`, or NULL for a name of another kind.
static inline const ASN1_STRING *tls_general_names_dns(const GENERAL_NAMES *names, int index) {
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  return name->type == GEN_DNS ? name->d.dNSName : NULL;
}

// The string of the otherName at `index` when it is of the kind `nid` and the ASN.1 type `type`, or NULL.
static inline const ASN1_STRING *tls_general_names_other(
    const GENERAL_NAMES *names, int index, int nid, int type) {
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  if (name->type != GEN_OTHERNAME) return NULL;
  const OTHERNAME *other = name->d.otherName;
  if (OBJ_obj2nid(other->type_id) != nid || other->value == NULL || other->value->type != type) return NULL;
  return other->value->value.asn1_string;
}

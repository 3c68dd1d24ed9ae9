#include "CTLS.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The functions of OpenSSL that are called here; those that its headers make of macros are not among them. */
#define FUNCTIONS(X) X(ASN1_TIME_to_tm) X(BIO_ctrl) X(BIO_ctrl_pending) X(BIO_free) X(BIO_new) X(BIO_read_ex) X(BIO_s_mem) X(BIO_write_ex) \
  X(ERR_clear_error) X(ERR_get_error) X(ERR_reason_error_string) X(SSL_CTX_check_private_key) X(SSL_CTX_ctrl) X(SSL_CTX_free) \
  X(SSL_CTX_get0_certificate) X(SSL_CTX_load_verify_file) X(SSL_CTX_new) X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_verify) \
  X(SSL_CTX_use_PrivateKey_file) X(SSL_CTX_use_certificate_chain_file) X(SSL_do_handshake) X(SSL_free) X(SSL_get0_peer_certificate) \
  X(SSL_get_error) X(SSL_get_verify_result) X(SSL_new) X(SSL_read_ex) X(SSL_set1_host) X(SSL_set_accept_state) X(SSL_set_bio) \
  X(SSL_set_connect_state) X(SSL_set_hostflags) X(SSL_shutdown) X(SSL_write_ex) X(TLS_method) X(X509_check_host) X(X509_get0_notAfter) \
  X(X509_verify_cert_error_string)

#define DECLARE(name) __typeof__(name) *name;
static struct { FUNCTIONS(DECLARE) } ssl;

static pthread_once_t loading = PTHREAD_ONCE_INIT;
static char load_error[256];

static void load(void) {
  void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(load_error, sizeof load_error, "%s", dlerror());
    return;
  }
  /* Those of libcrypto are found too, as libssl needs it. */
#define LOAD(name) \
  ssl.name = (__typeof__(name) *)dlsym(library, #name); \
  if (!ssl.name) { \
    snprintf(load_error, sizeof load_error, "libssl.so.3 has no function %s", #name); \
    return; \
  }
  FUNCTIONS(LOAD)
}

/* Only the names that a certificate lists count, each as it stands there. */
static const unsigned nameFlags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;

struct ct_session {
  SSL *ssl;
  BIO *in;
  BIO *out;
  char why[256];
};

/* Describes the first error of OpenSSL's queue, and empties the queue. */
static void describe(const char *what, const char *file, char *why, size_t room) {
  unsigned long number = ssl.ERR_get_error();
  const char *reason = number ? ssl.ERR_reason_error_string(number) : NULL;
  snprintf(why, room, "%s%s%s: %s", what, *file ? " " : "", file, reason ? reason : "not readable");
  ssl.ERR_clear_error();
}

/* MARK: Identities */

ct_identity *ct_read_identity(const char *certificate, const char *key, const char *authority, char *why, size_t room) {
  pthread_once(&loading, load);
  if (*load_error) {
    snprintf(why, room, "TLS: %s", load_error);
    return NULL;
  }
  ssl.ERR_clear_error();
  SSL_CTX *context = ssl.SSL_CTX_new(ssl.TLS_method());
  if (!context) {
    describe("TLS", "", why, room);
    return NULL;
  }
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL);
  ssl.SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  /* Each connection shows its certificates anew, so that none outlives its certificate by a ticket. */
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  ssl.SSL_CTX_set_num_tickets(context, 0);
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
  const char *file = certificate, *what = "certificate";
  bool isRead = !certificate || ssl.SSL_CTX_use_certificate_chain_file(context, certificate) == 1;
  if (isRead && key) {
    file = key, what = "key";
    isRead = ssl.SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 && ssl.SSL_CTX_check_private_key(context) == 1;
  }
  if (isRead && authority) {
    file = authority, what = "authority";
    isRead = ssl.SSL_CTX_load_verify_file(context, authority) == 1;
  }
  if (!isRead) {
    describe(what, file, why, room);
    ssl.SSL_CTX_free(context);
    return NULL;
  }
  return (ct_identity *)context;
}

void ct_release_identity(ct_identity *identity) { ssl.SSL_CTX_free((SSL_CTX *)identity); }

long long ct_expiry(const ct_identity *identity) {
  struct tm moment;
  const X509 *certificate = ssl.SSL_CTX_get0_certificate((const SSL_CTX *)identity);
  if (!certificate || ssl.ASN1_TIME_to_tm(ssl.X509_get0_notAfter(certificate), &moment) != 1) return 0;
  return timegm(&moment);
}

/* OpenSSL ignores a NUL at the end of a name, and all behind one if it gets no length. */
static bool names(X509 *certificate, const char *name, size_t length) {
  return certificate && length > 0 && !memchr(name, 0, length) && ssl.X509_check_host(certificate, name, length, nameFlags, NULL) == 1;
}

bool ct_is_for(const ct_identity *identity, const char *name, size_t length) {
  return names(ssl.SSL_CTX_get0_certificate((const SSL_CTX *)identity), name, length);
}

/* MARK: Sessions */

static ct_session *make(ct_identity *identity) {
  ct_session *session = calloc(1, sizeof *session);
  if (!session) return NULL;
  session->ssl = ssl.SSL_new((SSL_CTX *)identity);
  session->in = ssl.BIO_new(ssl.BIO_s_mem());
  session->out = ssl.BIO_new(ssl.BIO_s_mem());
  if (!session->ssl || !session->in || !session->out) {
    ssl.BIO_free(session->in);
    ssl.BIO_free(session->out);
    ssl.SSL_free(session->ssl);
    free(session);
    return NULL;
  }
  /* An empty BIO means that bytes have yet to come, not that there will be none. */
  ssl.BIO_ctrl(session->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
  ssl.BIO_ctrl(session->out, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
  ssl.SSL_set_bio(session->ssl, session->in, session->out);
  return session;
}

ct_session *ct_connect(ct_identity *identity, const char *peer) {
  ct_session *session = make(identity);
  if (!session) return NULL;
  ssl.SSL_set_hostflags(session->ssl, nameFlags);
  if (ssl.SSL_set1_host(session->ssl, peer) != 1) {
    ct_free(session);
    return NULL;
  }
  ssl.SSL_set_connect_state(session->ssl);
  return session;
}

ct_session *ct_accept(ct_identity *identity) {
  ct_session *session = make(identity);
  if (session) ssl.SSL_set_accept_state(session->ssl);
  return session;
}

void ct_free(ct_session *session) {
  if (!session) return;
  ssl.SSL_free(session->ssl);
  free(session);
}

bool ct_feed(ct_session *session, const void *bytes, size_t count) {
  size_t written = 0;
  return count == 0 || (ssl.BIO_write_ex(session->in, bytes, count, &written) == 1 && written == count);
}

size_t ct_pending(const ct_session *session) { return ssl.BIO_ctrl_pending(session->out); }

size_t ct_drain(ct_session *session, void *bytes, size_t room) {
  size_t moved = 0;
  return ssl.BIO_read_ex(session->out, bytes, room, &moved) == 1 ? moved : 0;
}

/* The meaning of a failed call of OpenSSL. */
static enum ct_result judge(ct_session *session, int status) {
  switch (ssl.SSL_get_error(session->ssl, status)) {
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE:
    return CT_WAIT;
  case SSL_ERROR_ZERO_RETURN:
    return CT_ENDED;
  default: {
    long verdict = ssl.SSL_get_verify_result(session->ssl);
    if (verdict != X509_V_OK) {
      snprintf(session->why, sizeof session->why, "its certificate is refused: %s", ssl.X509_verify_cert_error_string(verdict));
      ssl.ERR_clear_error();
    } else {
      describe("TLS", "", session->why, sizeof session->why);
    }
    return CT_FAILED;
  }
  }
}

enum ct_result ct_shake(ct_session *session) {
  ssl.ERR_clear_error();
  int status = ssl.SSL_do_handshake(session->ssl);
  return status == 1 ? CT_DONE : judge(session, status);
}

enum ct_result ct_read(ct_session *session, void *bytes, size_t room, size_t *count) {
  ssl.ERR_clear_error();
  *count = 0;
  int status = ssl.SSL_read_ex(session->ssl, bytes, room, count);
  return status == 1 ? CT_DONE : judge(session, status);
}

enum ct_result ct_write(ct_session *session, const void *bytes, size_t count) {
  ssl.ERR_clear_error();
  size_t written = 0;
  int status = ssl.SSL_write_ex(session->ssl, bytes, count, &written);
  return status == 1 && written == count ? CT_DONE : judge(session, status);
}

void ct_end(ct_session *session) {
  ssl.ERR_clear_error();
  ssl.SSL_shutdown(session->ssl);
  ssl.ERR_clear_error();
}

bool ct_peer_is(const ct_session *session, const char *name, size_t length) {
  return names(ssl.SSL_get0_peer_certificate(session->ssl), name, length);
}

const char *ct_why(const ct_session *session) { return session->why; }

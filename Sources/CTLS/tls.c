#include "CTLS.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
  unsigned long number = ERR_get_error();
  const char *reason = number ? ERR_reason_error_string(number) : NULL;
  snprintf(why, room, "%s%s%s: %s", what, *file ? " " : "", file, reason ? reason : "not readable");
  ERR_clear_error();
}

/* MARK: Identities */

ct_identity *ct_read_identity(const char *certificate, const char *key, const char *authority, char *why, size_t room) {
  ERR_clear_error();
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  if (!context) {
    describe("TLS", "", why, room);
    return NULL;
  }
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  /* Each connection shows its certificates anew, so that none outlives its certificate by a ticket. */
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  const char *file = certificate, *what = "certificate";
  bool isRead = SSL_CTX_use_certificate_chain_file(context, certificate) == 1;
  if (isRead) {
    file = key, what = "key";
    isRead = SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(context) == 1;
  }
  if (isRead) {
    file = authority, what = "authority";
    isRead = SSL_CTX_load_verify_file(context, authority) == 1;
  }
  if (!isRead) {
    describe(what, file, why, room);
    SSL_CTX_free(context);
    return NULL;
  }
  return (ct_identity *)context;
}

void ct_release_identity(ct_identity *identity) { SSL_CTX_free((SSL_CTX *)identity); }

long long ct_expiry(const ct_identity *identity) {
  struct tm moment;
  const X509 *certificate = SSL_CTX_get0_certificate((const SSL_CTX *)identity);
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &moment) != 1) return 0;
  return timegm(&moment);
}

/* MARK: Sessions */

static ct_session *make(ct_identity *identity) {
  ct_session *session = calloc(1, sizeof *session);
  if (!session) return NULL;
  session->ssl = SSL_new((SSL_CTX *)identity);
  session->in = BIO_new(BIO_s_mem());
  session->out = BIO_new(BIO_s_mem());
  if (!session->ssl || !session->in || !session->out) {
    BIO_free(session->in);
    BIO_free(session->out);
    SSL_free(session->ssl);
    free(session);
    return NULL;
  }
  /* An empty BIO means that bytes have yet to come, not that there will be none. */
  BIO_set_mem_eof_return(session->in, -1);
  BIO_set_mem_eof_return(session->out, -1);
  SSL_set_bio(session->ssl, session->in, session->out);
  return session;
}

ct_session *ct_connect(ct_identity *identity, const char *peer) {
  ct_session *session = make(identity);
  if (!session) return NULL;
  SSL_set_hostflags(session->ssl, nameFlags);
  if (SSL_set1_host(session->ssl, peer) != 1) {
    ct_free(session);
    return NULL;
  }
  SSL_set_connect_state(session->ssl);
  return session;
}

ct_session *ct_accept(ct_identity *identity) {
  ct_session *session = make(identity);
  if (session) SSL_set_accept_state(session->ssl);
  return session;
}

void ct_free(ct_session *session) {
  if (!session) return;
  SSL_free(session->ssl);
  free(session);
}

bool ct_feed(ct_session *session, const void *bytes, size_t count) {
  size_t written = 0;
  return count == 0 || (BIO_write_ex(session->in, bytes, count, &written) == 1 && written == count);
}

size_t ct_pending(const ct_session *session) { return BIO_ctrl_pending(session->out); }

size_t ct_drain(ct_session *session, void *bytes, size_t room) {
  size_t moved = 0;
  return BIO_read_ex(session->out, bytes, room, &moved) == 1 ? moved : 0;
}

/* What a call of OpenSSL that did not succeed means. */
static enum ct_result judge(ct_session *session, int status) {
  switch (SSL_get_error(session->ssl, status)) {
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE:
    return CT_WAIT;
  case SSL_ERROR_ZERO_RETURN:
    return CT_ENDED;
  default: {
    long verdict = SSL_get_verify_result(session->ssl);
    if (verdict != X509_V_OK) {
      snprintf(session->why, sizeof session->why, "its certificate is refused: %s", X509_verify_cert_error_string(verdict));
      ERR_clear_error();
    } else {
      describe("TLS", "", session->why, sizeof session->why);
    }
    return CT_FAILED;
  }
  }
}

enum ct_result ct_shake(ct_session *session) {
  ERR_clear_error();
  int status = SSL_do_handshake(session->ssl);
  return status == 1 ? CT_DONE : judge(session, status);
}

enum ct_result ct_read(ct_session *session, void *bytes, size_t room, size_t *count) {
  ERR_clear_error();
  *count = 0;
  int status = SSL_read_ex(session->ssl, bytes, room, count);
  return status == 1 ? CT_DONE : judge(session, status);
}

enum ct_result ct_write(ct_session *session, const void *bytes, size_t count) {
  ERR_clear_error();
  size_t written = 0;
  int status = SSL_write_ex(session->ssl, bytes, count, &written);
  return status == 1 && written == count ? CT_DONE : judge(session, status);
}

void ct_end(ct_session *session) {
  ERR_clear_error();
  SSL_shutdown(session->ssl);
  ERR_clear_error();
}

bool ct_peer_is(const ct_session *session, const char *name) {
  X509 *certificate = SSL_get0_peer_certificate(session->ssl);
  return certificate && X509_check_host(certificate, name, 0, nameFlags, NULL) == 1;
}

const char *ct_why(const ct_session *session) { return session->why; }

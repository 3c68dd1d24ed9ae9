/* TLS 1.3 between nodes with OpenSSL, apart from any socket: ciphertext goes in and comes out as bytes. Both sides show a certificate of the same
   authority. A session belongs to one thread at a time; an identity may be shared.

   OpenSSL is loaded when a process first reads an identity: a daemon that is no node of a cluster neither links nor loads it for this. */
#ifndef CTLS_H
#define CTLS_H

#include <stdbool.h>
#include <stddef.h>

/* The certificate that a node shows, and the authority that it trusts. */
typedef struct ct_identity ct_identity;

/* One end of a connection. */
typedef struct ct_session ct_session;

/* Reads the certificate with its chain, its key and the authority's certificates from PEM files; a NULL is left out. NULL when one can't be used, or OpenSSL can't be loaded; then `why` has a sentence. */
ct_identity *ct_read_identity(const char *certificate, const char *key, const char *authority, char *why, size_t room);

/* Drops the caller's share of an identity; sessions that use it go on. */
void ct_release_identity(ct_identity *identity);

/* When the identity's own certificate expires: seconds since 1970. */
long long ct_expiry(const ct_identity *identity);

/* Whether the identity's own certificate is for the name of `length` bytes; never if the name has a NUL. */
bool ct_is_for(const ct_identity *identity, const char *name, size_t length);

/* A session that begins the handshake, with a peer whose certificate must be for `peer`. NULL when memory has run out. */
ct_session *ct_connect(ct_identity *identity, const char *peer);

/* A session that waits for a handshake. NULL when memory has run out. */
ct_session *ct_accept(ct_identity *identity);

void ct_free(ct_session *session);

/* Takes ciphertext that came from the peer: true, or false when memory has run out. */
bool ct_feed(ct_session *session, const void *bytes, size_t count);

/* How many bytes of ciphertext wait to be sent to the peer. */
size_t ct_pending(const ct_session *session);

/* Moves at most `room` bytes of ciphertext for the peer into `bytes`; gives how many. */
size_t ct_drain(ct_session *session, void *bytes, size_t room);

enum ct_result {
  CT_DONE = 0,  /* it happened */
  CT_WAIT = 1,  /* more ciphertext has to come first */
  CT_ENDED = 2, /* the peer has ended the connection in good order */
  CT_FAILED = 3 /* the connection is broken or the peer is not accepted: ct_why says why */
};

/* Goes on with the handshake. */
enum ct_result ct_shake(ct_session *session);

/* Reads at most `room` bytes that the peer has written; `count` says how many. */
enum ct_result ct_read(ct_session *session, void *bytes, size_t room, size_t *count);

/* Encrypts all bytes for the peer. */
enum ct_result ct_write(ct_session *session, const void *bytes, size_t count);

/* Tells the peer that nothing more is written. */
void ct_end(ct_session *session);

/* Whether the peer's certificate is for the name of `length` bytes; never if the name has a NUL. */
bool ct_peer_is(const ct_session *session, const char *name, size_t length);

/* Why the last call failed, in words. */
const char *ct_why(const ct_session *session);

#endif

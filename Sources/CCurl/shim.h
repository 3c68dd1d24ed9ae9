/* The one header through which Swift imports libcurl. Swift can't call variadic functions, so each use of one is a function here. */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline CURLcode ruled_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ruled_curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

/* Sets the body; libcurl copies it. */
static inline CURLcode ruled_curl_set_body(CURL *easy, const void *bytes, curl_off_t count) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes);
}

typedef int (*ruled_curl_seek)(void *context, curl_off_t offset, int origin);

/* Sends `count` bytes that `read` gives as the body, with PUT; `seek` goes back in them when libcurl has to send them again. */
static inline CURLcode ruled_curl_set_upload(
    CURL *easy, curl_off_t count, size_t (*read)(char *bytes, size_t size, size_t count, void *context), ruled_curl_seek seek, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, count);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, read);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
}

static inline CURLcode ruled_curl_set_headers(CURL *easy, struct curl_slist *headers) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

typedef size_t (*ruled_curl_write)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ruled_curl_set_write(CURL *easy, ruled_curl_write body, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

/* Sets the function that gets each line of the answer's head. */
static inline CURLcode ruled_curl_set_head(CURL *easy, ruled_curl_write line, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, line);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

/* Whether a transfer that has got no whole head ended since libcurl has no room for it: for one of its lines, or for all of them. */
static inline bool ruled_curl_head_is_too_large(CURLcode code, const char *error) {
  static const char large[] = "Too large response headers";
  return code == CURLE_OUT_OF_MEMORY || strncmp(error, large, sizeof large - 1) == 0;
}

/* Where libcurl writes the text of an error, CURL_ERROR_SIZE bytes. */
static inline CURLcode ruled_curl_set_error_text(CURL *easy, char *text) {
  return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, text);
}

static inline long ruled_curl_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

/* The wait in seconds that a Retry-After header asks for; 0 without one. libcurl takes a number of more than 64 bits for 0. */
static inline curl_off_t ruled_curl_retry_after(CURL *easy) {
  struct curl_header *header;
  curl_off_t seconds = 0;
  if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return 0;
  long long number = strtoll(header->value, NULL, 10);
  return number > 0 || curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK ? number : seconds;
}

typedef int (*ruled_curl_socket)(CURL *easy, curl_socket_t socket, int what, void *context, void *of_socket);
typedef int (*ruled_curl_timer)(CURLM *multi, long milliseconds, void *context);

static inline CURLMcode ruled_curl_attach(CURLM *multi, ruled_curl_socket socket, ruled_curl_timer timer, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
  return curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* The transfer that a message reports as done; NULL for another message. */
static inline CURL *ruled_curl_done(const CURLMsg *message, CURLcode *result) {
  if (message->msg != CURLMSG_DONE) return 0;
  *result = message->data.result;
  return message->easy_handle;
}

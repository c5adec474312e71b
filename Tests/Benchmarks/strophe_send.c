// Sends the lines of a file as messages with libstrophe, and ends when the server has answered a ping after them.
//
//   strophe_send JID HOST PORT CA_FILE TO FILE < PASSWORD
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strophe.h>

static const char *to, *path;

static int answered(xmpp_conn_t *conn, xmpp_stanza_t *stanza, void *data) {
  xmpp_disconnect(conn);
  return 0;
}

static void send_all(xmpp_conn_t *conn, xmpp_ctx_t *ctx) {
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  FILE *file = fopen(path, "r");
  if (!file) exit(1);
  while ((length = getline(&line, &room, file)) >= 0) {
    if (length > 0 && line[length - 1] == '\n') line[length - 1] = 0;
    char *id = xmpp_uuid_gen(ctx);
    xmpp_stanza_t *message = xmpp_message_new(ctx, "chat", to, id);
    xmpp_message_set_body(message, line);
    xmpp_send(conn, message);
    xmpp_stanza_release(message);
    xmpp_free(ctx, id);
  }
  free(line);
  fclose(file);
  xmpp_stanza_t *ping = xmpp_iq_new(ctx, "get", "last"), *child = xmpp_stanza_new(ctx);
  xmpp_stanza_set_name(child, "ping");
  xmpp_stanza_set_ns(child, "urn:xmpp:ping");
  xmpp_stanza_add_child(ping, child);
  xmpp_stanza_release(child);
  xmpp_id_handler_add(conn, answered, "last", NULL);
  xmpp_send(conn, ping);
  xmpp_stanza_release(ping);
}

static void changed(
    xmpp_conn_t *conn, xmpp_conn_event_t event, int error, xmpp_stream_error_t *stream_error, void *data) {
  xmpp_ctx_t *ctx = data;
  if (event == XMPP_CONN_CONNECT) {
    send_all(conn, ctx);
  } else if (event == XMPP_CONN_DISCONNECT || event == XMPP_CONN_FAIL) {
    xmpp_stop(ctx);
  }
}

int main(int count, char **words) {
  /* The server may close the connection before everything is written. */
  signal(SIGPIPE, SIG_IGN);
  char password[256];
  if (count != 7 || !fgets(password, sizeof password, stdin)) return 64;
  password[strcspn(password, "\n")] = 0;
  to = words[5];
  path = words[6];
  xmpp_initialize();
  xmpp_ctx_t *ctx = xmpp_ctx_new(NULL, xmpp_get_default_logger(XMPP_LEVEL_ERROR));
  xmpp_conn_t *conn = xmpp_conn_new(ctx);
  xmpp_conn_set_jid(conn, words[1]);
  xmpp_conn_set_pass(conn, password);
  xmpp_conn_set_cafile(conn, words[4]);
  if (xmpp_connect_client(conn, words[2], (unsigned short)atoi(words[3]), changed, ctx) != XMPP_EOK) return 75;
  xmpp_run(ctx);
  xmpp_conn_release(conn);
  xmpp_ctx_free(ctx);
  xmpp_shutdown();
  return 0;
}

/* A line that a person edits on a terminal: libedit without its variable arguments, which Swift can't call. */
#pragma once

typedef struct ce_editor ce_editor;

/* Completes `head`, the text before the cursor, with ce_replace or by printing the candidates. */
typedef void (*ce_complete)(void *context, const char *head);

/* An editor of a terminal; NULL where there is no memory. */
ce_editor *ce_open(int input, int output, ce_complete complete, void *context);
void ce_close(ce_editor *editor);

/* Adds a line to those that the arrow keys bring back. */
void ce_remember(ce_editor *editor, const char *line);

/* Reads a line with its newline, valid until the next call; NULL when the person ends with Ctrl-D or the terminal is gone.
   Ctrl-C begins the line anew. */
const char *ce_read(ce_editor *editor, const char *prompt);

/* While the text is completed: puts `text` in the place of so many Unicode scalars before the cursor. */
void ce_replace(ce_editor *editor, int scalars, const char *text);

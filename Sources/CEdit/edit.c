#include "CEdit.h"

#include <histedit.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ce_editor {
  EditLine *line;
  History *history;
  FILE *input, *output;
  const char *prompt;
  ce_complete complete;
  void *context;
  bool interrupted;
};

static ce_editor *editor_of(EditLine *line) {
  void *editor;
  el_get(line, EL_CLIENTDATA, &editor);
  return editor;
}

static char *prompt_of(EditLine *line) { return (char *)editor_of(line)->prompt; }

static unsigned char complete_line(EditLine *line, int key) {
  (void)key;
  ce_editor *editor = editor_of(line);
  const LineInfo *info = el_line(line);
  char *head = strndup(info->buffer, (size_t)(info->cursor - info->buffer));
  if (!head) return CC_ERROR;
  editor->complete(editor->context, head);
  free(head);
  return CC_REDISPLAY;
}

static unsigned char interrupt_line(EditLine *line, int key) {
  (void)key;
  editor_of(line)->interrupted = true;
  return CC_NEWLINE;
}

ce_editor *ce_open(int input, int output, ce_complete complete, void *context) {
  static const char *const keys[][2] = {
      {"^C", "interrupt"}, {"^I", "complete"}, {"^W", "ed-delete-prev-word"}, {"^U", "vi-kill-line-prev"},
      {"\\e[1;5C", "em-next-word"}, {"\\e[1;3C", "em-next-word"}, {"\\e[1;5D", "ed-prev-word"},
      {"\\e[1;3D", "ed-prev-word"}, {"\\e[3~", "ed-delete-next-char"}, {"\\e[1~", "ed-move-to-beg"},
      {"\\e[7~", "ed-move-to-beg"}, {"\\e[4~", "ed-move-to-end"}, {"\\e[8~", "ed-move-to-end"},
  };
  setlocale(LC_CTYPE, "C.UTF-8");
  ce_editor *editor = calloc(1, sizeof *editor);
  if (!editor) return NULL;
  editor->complete = complete;
  editor->context = context;
  editor->input = fdopen(dup(input), "r");
  editor->output = fdopen(dup(output), "w");
  editor->history = history_init();
  if (editor->input && editor->output && editor->history)
    editor->line = el_init("rulectl", editor->input, editor->output, editor->output);
  if (!editor->line) {
    ce_close(editor);
    return NULL;
  }
  HistEvent event;
  history(editor->history, &event, H_SETSIZE, 1000);
  history(editor->history, &event, H_SETUNIQUE, 1);
  el_set(editor->line, EL_CLIENTDATA, editor);
  el_set(editor->line, EL_SIGNAL, 1);
  el_set(editor->line, EL_PROMPT, prompt_of);
  el_set(editor->line, EL_EDITOR, "emacs");
  el_set(editor->line, EL_HIST, history, editor->history);
  el_set(editor->line, EL_ADDFN, "complete", "Completes the word", complete_line);
  el_set(editor->line, EL_ADDFN, "interrupt", "Begins the line anew", interrupt_line);
  for (size_t index = 0; index < sizeof keys / sizeof *keys; index++)
    el_set(editor->line, EL_BIND, keys[index][0], keys[index][1], NULL);
  /* Ctrl-C is a key. */
  el_set(editor->line, EL_SETTY, "-d", "-isig", NULL);
  return editor;
}

void ce_close(ce_editor *editor) {
  if (editor->line) el_end(editor->line);
  if (editor->history) history_end(editor->history);
  if (editor->output) fclose(editor->output);
  if (editor->input) fclose(editor->input);
  free(editor);
}

void ce_remember(ce_editor *editor, const char *line) {
  HistEvent event;
  history(editor->history, &event, H_ENTER, line);
}

const char *ce_read(ce_editor *editor, const char *prompt) {
  editor->prompt = prompt;
  while (true) {
    int count = 0;
    editor->interrupted = false;
    const char *line = el_gets(editor->line, &count);
    if (!editor->interrupted) {
      if (!line) fputs("\n", editor->output);
      fflush(editor->output);
      return line;
    }
    fputs("^C\n", editor->output);
    fflush(editor->output);
  }
}

void ce_replace(ce_editor *editor, int scalars, const char *text) {
  el_deletestr(editor->line, scalars);
  el_insertstr(editor->line, text);
}

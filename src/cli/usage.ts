/**
 * The text of `--help`: what can be typed, and how a plan is written.
 */

/** The lines that belong below a complaint about the command line. */
export const usage = `Usage: quiesce run [PLAN] [--interactive] [--task TEXT] [--workspace DIR] [--session FILE] [--html FILE]
       quiesce run --model NAME [--base-url URL] [--task TEXT] [--yes] ...`

export const help = `${usage}

Runs an agent in a folder, with real files and processes. What it does is said by a plan of tool calls, or by a language
model. It shows what is true of each call: whether its handler was called, how its body ended, how long after a cancel it
was quiet, and what of it is still alive.

  PLAN                 a JSON file: what the model is to say and call. Without it a built-in plan runs in a temporary
                       folder, which is removed again
  --model NAME         asks a language model instead, which must speak OpenAI's chat completions
  --base-url URL       where that is, up to /chat/completions (default: https://api.openai.com/v1). The key is taken from
                       QUIESCE_API_KEY or OPENAI_API_KEY
  --task TEXT          what the agent is told. A model that is told nothing waits for you to tell it something
  -i, --interactive    lets you talk: a line opens a turn, or steers the one that runs; Ctrl-C stops it; /quit, Ctrl-D or
                       Ctrl-C twice leaves
  -y, --yes            lets tools run without asking. Without it you are asked about each call of a model that may have
                       effects, and about calls of a plan with "ask"; where there is no terminal, those are denied
  --workspace DIR      the folder that the tools work in (default: the current one). File tools cannot leave it
  --session FILE       keeps what happened in a file, and goes on from there the next time
  --html FILE          writes a page with the timeline of all turns and calls
  --cancel-after MS    cancel everything after so many milliseconds
  --json               print one JSON document with all results, and nothing else, on the standard output
  -h, --help           print this

Ctrl-C cancels everything, waits until it is quiet, and prints the table. A second Ctrl-C kills everything at once.
Exit code: 0 when it has run, whatever the results; 1 when the model could not be asked, or the page, the session or the
output not be written; 2 for bad input; 130 after Ctrl-C; 143 after SIGTERM; 129 after SIGHUP, which says that the terminal was closed.

A plan has steps: what the model says and calls, one answer after another. A step without calls ends its turn. Of the calls
of a step those that only look run at the same time, and those that change something one after another:

  {
    "steps": [
      { "text": "I write a note.", "calls": [{ "tool": "write_file", "parameters": { "path": "note.txt", "text": "hello" } }] },
      {
        "calls": [
          { "tool": "read_file", "parameters": { "path": "note.txt" } },
          {
            "id": "slow",
            "tool": "run_command",
            "parameters": { "command": "sleep", "args": ["60"] },
            "cancel": { "phase": "dispatching" }
          }
        ]
      }
    ]
  }

A call needs "tool" and "parameters". It may have
  "id"             a name of its own (default: call_1, call_2, ...)
  "cancel"         { "afterMillis": 200 }, counted from the start of the call, or { "phase": PHASE }, with one of
                     "before"       before it is decided whether it may run
                     "gated"        it may run, and its handler is about to be called
                     "dispatching"  its handler has been called
                     "settled"      its body has ended, and the result is not published yet
                     "reviewed"     the result is fixed: a cancel changes nothing any more
                     "after"        the result is published
  "deny"           a reason: a policy then denies the call
  "ask"            why somebody is to be asked whether it may run
  "timeoutMillis"  the time that the tool has for this call
  "expect"         "UNKNOWN_TOOL" or "INVALID_ARGS", to run a call that is wrong on purpose

Tools
  read_file    { path }
  list_files   { path? }
  write_file   { path, text }
  edit_file    { path, edits: [{ find, replace, all? }] }
  search_files { text, path?, files?, ignoreCase? }
  run_command  { command, args?, stdin?, graceMillis?, mustSucceed? }
               graceMillis: how long it may take to end when it is stopped, before it is killed (default: 3000, at most 60000)
               mustSucceed: an exit code other than 0 is then a failure of the call (default: false)
  shell        { command }, in a shell that stays
  fetch_url    { url }; private addresses are refused
  start_task   { label, command, args? }: a command in the background, stopped when the plan has run
  task_output  { id, from?, waitMillis? }
  kill_task    { id }
  run_code     { code }: JavaScript that can call these tools: await tools.read_file({ path })
  run_workflow { steps: [{ id, tool, parameters? } | { parallel: [...] }], concurrency? }: calls of these tools, in order or
               side by side; { "$from": id, "at": [keys] } in parameters is what an earlier step gave
`

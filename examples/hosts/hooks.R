# Callbacks for an agent in R: hooks(c(Write = "write_file")) maps its own names of tools to those of hooks.json.
# Each waits until the hooks are over, for `bound` seconds and two at most, and never fails because of them.

hooks <- function(tools, command = "bravebot-hooks", bound = 60) {
  fire <- function(...) {
    # Base R starts programs through sh alone: each word is quoted for it. Its own `timeout` waits 20 seconds between
    # two signals and may leave the command behind, so timeout(1) keeps the bound: SIGTERM first, which ends the hook.
    words <- c("--foreground", "--kill-after=2", bound, command, "fire", ...)
    suppressWarnings(system2("timeout", shQuote(words), stdin = "/dev/null", stdout = FALSE))
    invisible(NULL)
  }
  list(
    on_start = function(...) fire("turn-started"),
    after_tool = function(name, ...) {
      if (isTRUE(name %in% names(tools))) fire("tool-finished", "--tool", tools[[name]]) else fire("tool-finished")
    },
    on_end = function(...) fire("turn-finished"),
    on_failure = function(...) fire("turn-finished")
  )
}

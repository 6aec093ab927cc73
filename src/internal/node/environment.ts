/**
 * The environment that a command runs in.
 *
 * What this program was given, keys and tokens above all, is not handed on to commands that a model has chosen.
 */

const kept = new Set(["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL"])

/**
 * The variables of this program that every command may see, and those that this command was given.
 *
 * @internal
 */
export const scrubbedEnvironment = (given: Readonly<Record<string, string>> = {}): Record<string, string> => {
  // bash takes a socket on its standard input for a login over the network, unless it is told that a shell has started it:
  // then it runs the person's start-up file first, whatever that does. The pipes of Node are sockets.
  const environment: Record<string, string> = { SHLVL: "1" }
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && (kept.has(name) || name.startsWith("LC_"))) environment[name] = value
  }
  return Object.assign(environment, given)
}

import AgentProtocol
import ArgumentParser

/// `imctl agent states`: the state machine of a session as a diagram.
struct AgentStatesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "states",
    abstract: "Print the state machine of a session.",
    discussion: """
      Prints which state follows which, and on which event. Needs no agent. To draw a diagram:

        imctl agent states --dot | dot -Tsvg > states.svg
      """)

  @Flag(help: "Print the states in the DOT language of Graphviz.")
  var dot = false

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func validate() throws {
    if dot && output.json {
      throw ValidationError(inLanguage("--dot and --json cannot be used together.", "--dot 和 --json 不能同时使用。"))
    }
  }

  func run() throws {
    Deadline(timeout).endProcess(
      waitingFor: .usage(.standardOutput), json: output.json)
    if dot { return try output.data(SessionLifecycle.dot, text: SessionLifecycle.dot) }
    var last: SessionState?
    for arrow in SessionLifecycle.transitions {
      if !output.json, arrow.from != last { try output.data(arrow, text: arrow.from.rawValue) }
      last = arrow.from
      try output.data(arrow, text: "  \(arrow.event.rawValue) -> \(arrow.to.rawValue)")
    }
  }
}

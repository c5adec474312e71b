import AgentProtocol
import ArgumentParser
import Glibc
import Terminal

/// The output options of every command.
struct OutputOptions: ParsableArguments {
  @Flag(help: "Print JSON, one object per line; print an error as a JSON object on standard error.")
  var json = false

  @Flag(name: .shortAndLong, help: "Print nothing except errors.")
  var quiet = false

  @Flag(
    name: .shortAndLong,
    help:
      "Print each step on standard error; -vv: also print the wire log of a login, with secrets replaced.")
  var verbose: Int

  func validate() throws {
    if quiet && verbose > 0 {
      throw ValidationError(
        inLanguage("--quiet and --verbose cannot be used together.", "--quiet 和 --verbose 不能同时使用。"))
    }
  }

  /// Prints data: a line on standard output.
  func data(_ value: some Encodable, text: @autoclosure () -> String) throws {
    if quiet { return }
    Console.out(json ? try JSONLine.encode(value) : text())
  }

  /// The form of text on standard output.
  var style: OutputStyle { OutputStyle(of: STDOUT_FILENO) }

  /// Prints the value of an item as the agent wrote it, with `--json`.
  func forward(_ reply: RPCReply) {
    if json && !quiet { Console.out(JSONLine.escape(String(reply.payload))) }
  }

  /// Prints a list: an object for each value with `--json`, otherwise a table with a row for each.
  func list<Value: Encodable>(
    _ values: [Value], _ columns: [TextTable.Column], cells: (Value) -> [TextTable.Cell]
  ) throws {
    if json {
      for value in values { try data(value, text: "") }
      return
    }
    var table = TextTable(columns, style)
    for value in values { table.add(cells(value)) }
    lines(table.lines())
  }

  /// Prints facts of one value: an object with `--json`, otherwise a row for each fact, which begins with its name.
  func facts(_ value: some Encodable, _ facts: @autoclosure () -> [(name: String, value: String)]) throws {
    if json { return try data(value, text: "") }
    lines(TextTable(facts: facts(), style).lines(hasHeadings: false))
  }

  /// Prints lines of text on standard output, in text output only.
  func lines(_ lines: [String]) {
    if !quiet && !json && !lines.isEmpty { Console.out(lines.joined(separator: "\n")) }
  }

  /// Prints a remark: a line on standard error, in text output only, that begins with the name of the program.
  func note(_ text: @autoclosure () -> String) {
    if !quiet && !json { Console.remark(text()) }
  }

  /// Prints a step or a decision: a line on standard error with `-v`.
  func step(_ text: @autoclosure () -> String) {
    if verbose > 0 { Console.err(text()) }
  }

  /// Notes, on a terminal only, that a list is empty and how to fill it.
  func empty(_ text: @autoclosure () -> String) {
    if Console.isTerminal(STDERR_FILENO) { note(text()) }
  }
}

/// The account to which a command applies.
struct AccountOption: ParsableArguments {
  @Option(
    name: [.customShort("a"), .customLong("account")],
    help: ArgumentHelp("Use this account instead of the default account.", valueName: "JID"),
    completion: .accounts)
  var account: String?

  func validate() throws {
    if account?.isEmpty == true { throw ValidationError(inLanguage("The account is empty.", "账号为空。")) }
  }
}

/// The common options of short commands for one account.
struct AccountCommandOptions: ParsableArguments {
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 10)
}

extension PresenceShow: ExpressibleByArgument {}
extension StorePolicy: ExpressibleByArgument {}

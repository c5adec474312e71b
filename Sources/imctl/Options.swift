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
    help: ArgumentHelp("Use this account instead of the default account.", valueName: "JID"))
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

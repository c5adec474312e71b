import Glibc

/// The form of text output: fitted to a terminal and coloured, or plain for a pipe.
package struct OutputStyle: Sendable, Equatable {
  package enum Colors: Sendable, Equatable {
    case none, palette, full
  }

  /// The width of the terminal; nil in a pipe or a file, where nothing is cut, wrapped or padded.
  package var columns: Int?
  package var colors: Colors

  package init(columns: Int?, colors: Colors = .none) {
    self.columns = columns
    self.colors = colors
  }

  /// The style for a descriptor in this process's environment.
  ///
  /// `COLUMNS` takes precedence over the size of the terminal. `NO_COLOR` and a dumb terminal switch colours off;
  /// `COLORTERM` says whether the terminal shows all colours or the 256 of xterm's palette.
  package init(of descriptor: Int32, environment: (String) -> String? = Self.variable) {
    guard isatty(descriptor) == 1 else {
      self.init(columns: nil)
      return
    }
    var size = winsize()
    let hasSize = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let columns = environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    self.init(columns: columns ?? (hasSize ? Int(size.ws_col) : 80), colors: Self.colors(environment))
  }

  private static func colors(_ environment: (String) -> String?) -> Colors {
    if environment("NO_COLOR")?.isEmpty == false || (environment("TERM") ?? "dumb") == "dumb" { return .none }
    return ["truecolor", "24bit"].contains(environment("COLORTERM") ?? "") ? .full : .palette
  }

  package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// A part of text output with an attribute, which is shown only where the style has colours.
package struct TextAttribute: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case plain, bold, faint
    /// Red, green and blue, from 0 to 255.
    case color(UInt8, UInt8, UInt8)
  }

  package static let plain = Self(kind: .plain)
  package static let bold = Self(kind: .bold)
  package static let faint = Self(kind: .faint)

  package let kind: Kind

  /// A colour in the form `#rrggbb`; plain for any other text.
  package init(color: String?) {
    guard let color, color.hasPrefix("#"), color.utf8.count == 7,
      let value = UInt32(color.dropFirst(), radix: 16)
    else {
      self = .plain
      return
    }
    kind = .color(UInt8(value >> 16), UInt8(value >> 8 & 0xff), UInt8(value & 0xff))
  }

  private init(kind: Kind) { self.kind = kind }

  /// The text between control sequences of ECMA-48 (SGR).
  package func applied(to text: String, _ style: OutputStyle) -> String {
    guard let parameters = parameters(style.colors), !text.isEmpty else { return text }
    return "\u{1b}[\(parameters)m\(text)\u{1b}[0m"
  }

  private func parameters(_ colors: OutputStyle.Colors) -> String? {
    if colors == .none { return nil }
    switch kind {
    case .plain: return nil
    case .bold: return "1"
    case .faint: return "2"
    case .color(let red, let green, let blue):
      if colors == .full { return "38;2;\(red);\(green);\(blue)" }
      // The cube of 6 × 6 × 6 colours begins at 16; its levels are 0, 95, 135, 175, 215 and 255.
      func level(_ value: UInt8) -> Int { value < 48 ? 0 : value < 115 ? 1 : (Int(value) - 35) / 40 }
      return "38;5;\(16 + 36 * level(red) + 6 * level(green) + level(blue))"
    }
  }
}

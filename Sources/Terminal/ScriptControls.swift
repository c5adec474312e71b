/// The format characters that the script of a text requires, such as joiners in Persian words and in emoji, and the
/// direction marks of Hebrew text with numbers.
///
/// None of them affects the order of what follows the text: isolates and embeddings are included only if they are
/// closed (UAX #9, BD9 and BD11), and overrides never.
struct ScriptControls {
  private let scalars: [Unicode.Scalar]
  /// Whether each scalar is required, by its index.
  private var isNeeded: [Bool]

  init(in scalars: [Unicode.Scalar]) {
    self.scalars = scalars
    isNeeded = scalars.map(\.isVisibleFormat)
    findNeededMarks()
    findNeededPairs()
    findNeededFlags()
  }

  func contains(_ index: Int) -> Bool { isNeeded[index] }

  /// Finds joiners and direction marks, except for those inside a word of letters that have an upper and a lower case.
  /// Such letters neither join nor change direction, so that the mark would only disguise a different word.
  private mutating func findNeededMarks() {
    var start = 0
    while start < scalars.count {
      guard scalars[start].isMark else {
        start += 1
        continue
      }
      let end = scalars[start...].firstIndex { !$0.isMark } ?? scalars.count
      let isInWord = start > 0 && end < scalars.count && scalars[start - 1].isCased && scalars[end].isCased
      if !isInWord { for index in start..<end { isNeeded[index] = true } }
      start = end
    }
  }

  /// Finds isolates with their ends, and embeddings with their ends that do not cross an isolate.
  private mutating func findNeededPairs() {
    var open: [(index: Int, isIsolate: Bool)] = []
    /// The indices of isolates in `open`.
    var isolates: [Int] = []
    for (index, scalar) in scalars.enumerated() {
      switch scalar {
      case "\u{2066}", "\u{2067}", "\u{2068}":
        isolates.append(open.count)
        open.append((index, true))
      case "\u{202a}", "\u{202b}", "\u{202d}", "\u{202e}": open.append((index, false))
      case "\u{2069}":
        // The end of an isolate also closes the embeddings inside it.
        guard let isolate = isolates.popLast() else { continue }
        setNeeded(open[isolate].index, index)
        open.removeSubrange(isolate...)
      case "\u{202c}":
        guard let opening = open.last, !opening.isIsolate else { continue }
        open.removeLast()
        if !["\u{202d}", "\u{202e}"].contains(scalars[opening.index]) { setNeeded(opening.index, index) }
      default: continue
      }
    }
  }

  private mutating func setNeeded(_ start: Int, _ end: Int) {
    isNeeded[start] = true
    isNeeded[end] = true
  }

  /// Finds flags of a country's subdivisions: a black flag, the subdivision's code as tags, and the end tag (UTS #51,
  /// ED-14a).
  private mutating func findNeededFlags() {
    for flag in scalars.indices where scalars[flag] == "\u{1f3f4}" {
      let tags = scalars[(flag + 1)...].prefix(while: \.isTagOfFlag)
      guard (3...6).contains(tags.count), tags.endIndex < scalars.count, scalars[tags.endIndex] == "\u{e007f}"
      else { continue }
      for index in tags.startIndex...tags.endIndex { isNeeded[index] = true }
    }
  }
}

extension Unicode.Scalar {
  /// ZWNJ, ZWJ, LRM, RLM and the Arabic letter mark.
  fileprivate var isMark: Bool {
    (0x200c...0x200f).contains(value) || value == 0x61c
  }

  fileprivate var isCased: Bool {
    [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter].contains(properties.generalCategory)
  }

  /// Tags of digits and small letters.
  fileprivate var isTagOfFlag: Bool {
    (0xe0030...0xe0039).contains(value) || (0xe0061...0xe007a).contains(value)
  }

  /// A visible format character, such as the Arabic end of ayah; interlinear annotations are excluded.
  fileprivate var isVisibleFormat: Bool {
    properties.generalCategory == .format && !properties.isDefaultIgnorableCodePoint
      && !(0xfff9...0xfffb).contains(value)
  }
}

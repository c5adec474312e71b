import FoundationEssentials

/// Times in the format of the agent: RFC 3339, UTC, with milliseconds, `2026-11-21T02:42:13.123Z`.
public enum Timestamp {
  private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  public static func now() -> String { text(Date()) }

  public static func text(_ date: Date) -> String { date.formatted(style) }

  /// Returns nil for a text in any other format.
  public static func date(_ text: String) -> Date? { try? Date(text, strategy: style) }
}

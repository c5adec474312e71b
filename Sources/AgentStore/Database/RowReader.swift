import GRDB

/// Reads the columns of a row one after the other: to look for a name in every row takes longer than to read the value.
struct RowReader {
  private let row: Row
  private var index = 0

  init(_ row: Row) { self.row = row }

  mutating func next<Value: DatabaseValueConvertible & StatementColumnConvertible>() -> Value {
    defer { index += 1 }
    return row[index]
  }
}

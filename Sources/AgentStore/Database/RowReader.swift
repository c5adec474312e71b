import GRDB

/// Reads the columns of a row in order. Looking up each column by name takes longer than reading its value.
struct RowReader {
  private let row: Row
  private var index = 0

  init(_ row: Row) { self.row = row }

  mutating func next<Value: DatabaseValueConvertible & StatementColumnConvertible>() -> Value {
    defer { index += 1 }
    return row[index]
  }
}

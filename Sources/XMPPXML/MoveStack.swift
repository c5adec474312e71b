/// A stack that is frequently filled and emptied. It keeps its memory, and elements are moved out of it without a copy.
struct MoveStack<Element>: ~Copyable {
  private var base: UnsafeMutablePointer<Element>
  private var capacity = 8
  private(set) var count = 0

  init() {
    base = .allocate(capacity: capacity)
  }

  deinit {
    base.deinitialize(count: count)
    base.deallocate()
  }

  /// The elements, valid until the next change.
  var elements: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: count) }

  @inline(__always)
  mutating func append(_ element: consuming Element) {
    if count == capacity { grow(by: 1) }
    (base + count).initialize(to: element)
    count += 1
  }

  @inline(__always)
  mutating func append(_ elements: UnsafeBufferPointer<Element>) {
    guard let source = elements.baseAddress else { return }
    if elements.count > capacity - count { grow(by: elements.count) }
    (base + count).initialize(from: source, count: elements.count)
    count += elements.count
  }

  private mutating func grow(by more: Int) {
    capacity = max(2 * capacity, count + more)
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
    larger.moveInitialize(from: base, count: count)
    base.deallocate()
    base = larger
  }

  @inline(__always)
  mutating func removeLast() -> Element? {
    guard count > 0 else { return nil }
    count -= 1
    return (base + count).move()
  }

  mutating func removeAll() {
    base.deinitialize(count: count)
    count = 0
  }

  /// Removes the elements from an index on, and returns them.
  @inline(__always)
  mutating func removeAll(from start: Int) -> [Element] {
    let length = count - start
    count = start
    let first = base + start
    switch length {
    case 0: return []
    // Array literals are allocated and filled in one step.
    case 1: return [first.move()]
    case 2: return [first.move(), (first + 1).move()]
    case 3: return [first.move(), (first + 1).move(), (first + 2).move()]
    case 4: return [first.move(), (first + 1).move(), (first + 2).move(), (first + 3).move()]
    default:
      var elements: [Element] = []
      elements.reserveCapacity(length)
      for index in 0..<length { elements.append((first + index).move()) }
      return elements
    }
  }
}

import Testing

@testable import AgentSystem

@Suite("The memory of an idle agent") struct ResidentMemoryTests {
  private static let smaps = """
    5600-7600 r-xp 00001000 08:01 42    /usr/bin/a program
    Size:                  8 kB
    Rss:                   8 kB
    Private_Dirty:         0 kB
    Anonymous:             0 kB
    VmFlags: rd ex mr mw me
    7600-9600 r--p 00003000 08:01 42    /usr/bin/a program
    Rss:                   8 kB
    Anonymous:             4 kB
    9600-b600 rw-p 00005000 08:01 42    /usr/bin/a program
    Rss:                   8 kB
    Anonymous:             0 kB
    b600-d600 r--p 00000000 00:00 0
    Rss:                   8 kB
    Anonymous:             0 kB
    f600-d600 r--p 00000000 08:01 42    /backwards
    d600-f600 r--s 00000000 08:01 43    /shared
    Rss:                   8 kB
    Anonymous:             0 kB

    """

  @Test(
    "Only memory that is identical to its file is released: no data, no relocated and no shared memory.")
  func dropped() {
    let mappings = ResidentMemory.mappings(in: Self.smaps)
    #expect(mappings.count == 5)
    #expect(mappings.filter(\.isAsInFile).map(\.start) == [0x5600])
    #expect(mappings.first?.size == 0x2000 && mappings.first?.resident == 8192)
    #expect(ResidentMemory.mappings(in: "Rss: 1 kB\nnonsense\n5-x r-xp 0 0 1 a").isEmpty)
  }

  @Test("Memory that was released is read again when it is needed.")
  func shrink() {
    func inMemory() -> Int { ResidentMemory.current.filter(\.isAsInFile).reduce(0) { $0 + $1.resident } }
    let before = inMemory()
    ResidentMemory.shrink()
    let after = inMemory()
    #expect(before > 0 && after < before)
    #expect(String(repeating: "ä", count: 3).uppercased() == "ÄÄÄ")
  }
}

import FoundationEssentials
import Testing
import XMPPXML

@Suite struct FuzzCorpusTests {
  private static let directory =
    #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 }
    + "/Fuzz/corpus/XMLStreamParserFuzz"

  private static let files = (try? FileManager.default.contentsOfDirectory(atPath: directory).sorted()) ?? []

  @Test(
    "Every input of the fuzzing corpus gives the same elements in one piece and in pieces, and after writing.",
    arguments: files
  )
  func corpus(_ file: String) throws {
    let data = try Data(contentsOf: URL(filePath: Self.directory + "/" + file))
    let reading = Reading.everyWay(Array(data.dropFirst()))
    for element in reading.elements {
      #expect(Reading.everyWay("<s>" + element.xmlString()).elements == [element])
    }
  }

  @Test("The directory of the fuzzing corpus has at least ten inputs.")
  func corpusIsFound() {
    #expect(Self.files.count >= 10)
  }
}

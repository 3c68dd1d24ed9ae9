import RuledCore
import RuledJSON
import TestSupport
import Testing

@Suite struct JSONWriterTests {
  @Test func `commas stand between members and elements, and nowhere else`() {
    let buffer = ByteBuffer(capacity: 0)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("empty")
    writer.beginObject()
    writer.endObject()
    writer.member("list")
    writer.beginArray()
    writer.integer(-1)
    writer.beginArray()
    writer.endArray()
    writer.null()
    writer.beginObject()
    writer.member("a", true)
    writer.endObject()
    writer.number(2)
    writer.endArray()
    writer.member("text", "a\"b")
    writer.member("none", nil)
    writer.member("big", UInt64.max)
    writer.member("plain", plain: "p")
    writer.member("at", Timestamp(microseconds: 1_500_000))
    writer.member(named: "q\"")
    writer.raw("[1, 2]")
    writer.endObject()
    #expect(
      buffer.text
        == #"{"empty":{},"list":[-1,[],null,{"a":true},2.0],"text":"a\"b","none":null,"big":9223372036854775807,"plain":"p","#
        + #""at":"1970-01-01T00:00:01.500Z","q\"":[1, 2]}"#)
  }

  @Test func `text that others append is a value like any other`() {
    let (buffer, quoted) = (ByteBuffer(), ByteBuffer())
    quoted.append(jsonString: "n")
    var writer = JSONWriter(buffer)
    writer.beginArray()
    writer.raw { $0.append("1" as StaticString) }
    writer.string(plain: "s")
    writer.string(plain: { $0.append(decimal: 7) })
    writer.beginObject()
    Array("b\n".utf8).withView { writer.member(named: $0) }
    writer.raw(quoted)
    writer.endObject()
    writer.endArray()
    #expect(buffer.text == #"[1,"s","7",{"b\n":"n"}]"#)
  }

  @Test func `a list without brackets goes on with a comma once it has something`() {
    let buffer = ByteBuffer()
    for number in 1...3 {
      var writer = JSONWriter(continuing: buffer)
      writer.integer(Int64(number))
    }
    #expect(buffer.text == "1,2,3")
  }

  @Test func `an error object carries its code, number and details`() throws {
    let buffer = ByteBuffer()
    RequestError.invalidParams(path: "params.data", "is no \"object\"").write(to: buffer)
    #expect(
      buffer.text
        == #"{"code":-32602,"message":"params.data: is no \"object\"","data":{"code":"invalid_params","#
        + #""path":"params.data","detail":"is no \"object\""}}"#)
    #expect(Set(RequestError.Code.allCases.map(\.number)).count == RequestError.Code.allCases.count)
  }
}

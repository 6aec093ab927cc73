import { assert, describe, it } from "@effect/vitest"
import { Guard, hostOf, isPrivate } from "../../../../src/internal/node/http/guard.js"

describe("isPrivate", () => {
  it.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:a00:1",
    "::ffff:169.254.169.254",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:a00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "not an address",
    ""
  ])("%s is", (address) => assert.isTrue(isPrivate(address)))

  it.each([
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.0.1",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.1",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "::ffff:1.1.1.1",
    "2606:4700:4700::1111",
    "2a00:1450::1",
    "fbff::1"
  ])("%s is not", (address) => assert.isFalse(isPrivate(address)))
})

describe("Guard", () => {
  const reasonOf = (hosts: ReadonlyArray<string>, url: string) => new Guard({ hosts }).refuseUrl(new URL(url))?.reason

  it("a host is itself, and a pattern every host below", () => {
    const hosts = ["Example.com", "*.example.org", "[2606:4700::1]"]
    for (const host of ["example.com", "EXAMPLE.com.", "a.example.org", "a.b.example.org:8080", "[2606:4700::1]"]) {
      assert.isUndefined(reasonOf(hosts, `http://${host}/`), host)
    }
    for (const host of [
      "a.example.com",
      "example.com.evil.test",
      "notexample.com",
      "example.org",
      "evilexample.org",
      ".example.org"
    ]) {
      assert.strictEqual(reasonOf(hosts, `http://${host}/`), "HostNotAllowed", host)
    }
    assert.strictEqual(reasonOf([], "http://example.com/"), "HostNotAllowed")
  })

  it("an address in a URL is checked as what it is, however it is written", () => {
    const guard = new Guard({})
    for (const host of [
      "127.0.0.1",
      "2130706433",
      "0x7f000001",
      "017700000001",
      "127.1",
      "[::1]",
      "[::ffff:7f00:1]",
      "0"
    ]) {
      assert.strictEqual(guard.refuseUrl(new URL(`http://${host}/`))?.reason, "AddressNotAllowed", host)
    }
    assert.isUndefined(guard.refuseUrl(new URL("http://1.1.1.1/")))
    // A name: its addresses decide, when they are known.
    assert.isUndefined(guard.refuseUrl(new URL("http://localhost/")))
  })

  it("one private address among many is enough, unless its host may have one", () => {
    const guard = new Guard({ allowPrivate: ["*.inner.test"] })
    assert.strictEqual(guard.refuseAddresses("a.test", ["1.1.1.1", "10.0.0.1"])?.reason, "AddressNotAllowed")
    assert.isUndefined(guard.refuseAddresses("a.inner.test", ["1.1.1.1", "10.0.0.1"]))
    assert.isUndefined(new Guard({ allowPrivate: true }).refuseAddresses("a.test", ["10.0.0.1"]))
  })

  it("the host of a URL is without brackets and without the dot of DNS", () => {
    assert.strictEqual(hostOf(new URL("http://[::1]:80/")), "::1")
    assert.strictEqual(hostOf(new URL("http://A.test./")), "a.test")
  })
})

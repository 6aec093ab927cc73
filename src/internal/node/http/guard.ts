/**
 * Decides which hosts and addresses may be reached.
 *
 * Whoever lets a model choose URLs lets it choose hosts: the router at 192.168.0.1, the metadata of a cloud at
 * 169.254.169.254, a database on this machine. So a URL is checked by its host, and then each address that its name
 * resolves to, in the very answer that the socket connects with: a second look-up could say something else.
 */
import { BlockList, isIP } from "node:net"
import type { Problem } from "../../capability/http/transport.js"

/** The special-purpose registries of IANA (RFC 6890 and its updates), and what multicast and 6to4 make of them. */
const reserved: ReadonlyArray<readonly [net: string, prefix: number]> = [
  ["0.0.0.0", 8], // this host on this network
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local, and the metadata of clouds
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, and broadcast
  ["::", 96], // unspecified, loopback, and IPv4 in its old disguise
  ["64:ff9b::", 96], // IPv4 behind a translator
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23], // Teredo among others
  ["2001:db8::", 32],
  ["2002::", 16], // IPv4 in 6to4
  ["3fff::", 20],
  ["5f00::", 16],
  ["fc00::", 7], // unique local
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8]
]

const blockList = new BlockList()
for (const [net, prefix] of reserved) blockList.addSubnet(net, prefix, net.includes(":") ? "ipv6" : "ipv4")

/**
 * Whether an address is not one of the public internet. (IPv4 that is mapped into IPv6 counts as the IPv4 that it is.)
 *
 * @internal
 */
export const isPrivate = (address: string): boolean => {
  const family = isIP(address)
  return family === 0 || blockList.check(address, family === 6 ? "ipv6" : "ipv4")
}

/**
 * The host of a URL, without what only URLs and DNS write.
 *
 * @internal
 */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")

const matches = (host: string, pattern: string): boolean => {
  const wanted = pattern.toLowerCase().replace(/^\[(.*)\]$/, "$1")
  return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) && host.length >= wanted.length : host === wanted
}

/** @internal */
export interface Rules {
  readonly hosts?: ReadonlyArray<string> | undefined
  readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined
}

/** @internal */
export class Guard {
  private readonly rules: Rules

  constructor(rules: Rules) {
    this.rules = rules
  }

  /** Why a URL may not be asked for, as far as it alone tells. */
  refuseUrl(url: URL): Problem | undefined {
    const host = hostOf(url)
    const { hosts } = this.rules
    if (hosts !== undefined && !hosts.some((pattern) => matches(host, pattern))) {
      return { reason: "HostNotAllowed", detail: `the host "${host}" is not among those that may be reached` }
    }
    return isIP(host) === 0 ? undefined : this.refuseAddresses(host, [host])
  }

  /** Why no connection to a host may be made that has these addresses. */
  refuseAddresses(host: string, addresses: ReadonlyArray<string>): Problem | undefined {
    const { allowPrivate = false } = this.rules
    const isAllowed = typeof allowPrivate === "boolean" ? allowPrivate : allowPrivate.some((p) => matches(host, p))
    // Each of them: which one is taken is decided by who answers first.
    if (isAllowed || !addresses.some(isPrivate)) return undefined
    // Not the address: names of an inner network are looked up on behalf of somebody who must not learn of it.
    return { reason: "AddressNotAllowed", detail: `the address of the host "${host}" is private or reserved` }
  }
}

/**
 * Carries a refusal through the callbacks of Node.
 *
 * @internal
 */
export class Refused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

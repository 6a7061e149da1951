// Package address says which addresses the server calls when others name them: in
// webhooks, checks, names of images, and in what an answer leads to.
package address

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Sort is of what sort an address is that may be refused, in words for people.
type Sort string

// The sorts.
const (
	Own         Sort = "this server's own"
	Unspecified Sort = "unspecified"
	Multicast   Sort = "a multicast or broadcast address"
	LinkLocal   Sort = "link-local"
	Metadata    Sort = "where clouds keep what they tell their machines"
	Translated  Sort = "translated to IPv4 by this network alone"
	Machine     Sort = "on the server's own machine"
	Private     Sort = "of a private network"
	Listed      Sort = "in --refuse-addresses"
	Unknown     Sort = "no address"
)

// Refused is that an address is not called. It has no more of it than who asks has
// said: what a name means inside of a network is not told.
type Refused struct {
	Host string // as it was asked for
	Sort Sort
}

// Error says so to who asked.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s is %s, which this server does not call for others; whoever runs it may allow it with --allow-addresses", r.Host, r.Sort)
}

// Entry is an address, range, name or group of addresses, at one port or at all.
type Entry struct {
	ranges []netip.Prefix
	name   string // lower case; empty: ranges
	port   uint16 // 0: all
}

// Rules say what is called beside what is always so.
type Rules struct {
	Allow, Refuse []Entry
}

// Place is what the server knows of itself when it is asked to call somebody.
type Place struct {
	Listening []netip.AddrPort // where it listens
	Here      []netip.Addr     // addresses of its machine
	Names     []string         // HOST:PORT by which others reach it, in lower case
	// Shared is that others than its owner may ask it for something, by access
	// control: the machine's own addresses are then refused.
	Shared bool
}

// groups are words for ranges.
var groups = map[string][]netip.Prefix{
	"loopback": prefixes("127.0.0.0/8", "::1/128"),
	// RFC 1918, RFC 6598 (between providers and customers), RFC 4193, and site-local as it was.
	"private": prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10"),
}

// metadata are addresses of clouds' metadata that are not link-local: of AWS by IPv6,
// of Azure, Alibaba and Oracle.
var metadata = prefixes("fd00:ec2::254/128", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32")

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, p := range all {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// ParseEntry reads an entry: 10.1.0.0/16, 10.1.2.3, 10.1.2.3:8443, [::1]:80, private,
// loopback, or a name with or without a port.
func ParseEntry(text string) (Entry, error) {
	wrong := func() (Entry, error) {
		return Entry{}, fmt.Errorf("%q is not an address; write one like 10.1.2.3, 10.1.2.3:8443 or [fd00::1]:443, a range like 10.1.0.0/16, a name like hooks.example.com, private or loopback", text)
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return Entry{ranges: []netip.Prefix{p.Masked()}}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return Entry{ranges: []netip.Prefix{netip.PrefixFrom(a.Unmap().WithZone(""), a.Unmap().BitLen())}}, nil
	}
	if ap, err := netip.ParseAddrPort(text); err == nil {
		a := ap.Addr().Unmap().WithZone("")
		return Entry{ranges: []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}, port: ap.Port()}, nil
	}
	host, port, ported := strings.Cut(strings.ToLower(text), ":")
	e := Entry{name: strings.TrimSuffix(host, ".")}
	if ported {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return wrong()
		}
		e.port = uint16(n)
	}
	if ranges, ok := groups[e.name]; ok {
		return Entry{ranges: ranges, port: e.port}, nil
	}
	if !isName(e.name) {
		return wrong()
	}
	return e, nil
}

// isName says whether a text is a host's name and not meant to be a number: resolvers
// read 127.1 and 0x7f000001 as addresses.
func isName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(s) < 254 && (last[0] < '0' || last[0] > '9')
}

// ParseRules reads what flags say. What is refused is a range or an address: a name
// could be had by another name.
func ParseRules(allow, refuse []string) (Rules, error) {
	var r Rules
	for _, text := range allow {
		e, err := ParseEntry(text)
		if err != nil {
			return r, fmt.Errorf("--allow-addresses: %w", err)
		}
		r.Allow = append(r.Allow, e)
	}
	for _, text := range refuse {
		e, err := ParseEntry(text)
		if err == nil && e.name != "" {
			err = fmt.Errorf("%q is a name, and the same address has others; write the address, a range like 10.1.0.0/16, private or loopback", text)
		}
		if err != nil {
			return r, fmt.Errorf("--refuse-addresses: %w", err)
		}
		r.Refuse = append(r.Refuse, e)
	}
	return r, nil
}

func (e Entry) has(host string, at netip.AddrPort) bool {
	if e.port != 0 && e.port != at.Port() {
		return false
	}
	if e.name != "" {
		return e.name == host
	}
	return in(e.ranges, at.Addr())
}

func in(ranges []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Refusal says why an address is not called to which host was resolved; nil: it is.
// Whatever stands for an IPv4 address in one of IPv6 is judged as that.
func (r Rules) Refusal(host string, at netip.AddrPort, p Place) *Refused {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !at.Addr().IsValid() {
		return &Refused{host, Unknown}
	}
	for _, a := range meant(at.Addr()) {
		at := netip.AddrPortFrom(a, at.Port())
		if sort := r.sort(host, at, p); sort != "" {
			return &Refused{host, sort}
		}
	}
	return nil
}

// AsWritten is Refusal where somebody else will resolve host: of a name only the name is
// known, and of numbers what the most forgiving of resolvers would read.
func (r Rules) AsWritten(host string, port uint16, p Place) *Refused {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, ok := numbers(host); ok {
		return r.Refusal(host, netip.AddrPortFrom(a, port), p)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return r.Refusal(host, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port), p)
	}
	if slices.Contains(p.Names, host+":"+strconv.Itoa(int(port))) && !slices.ContainsFunc(r.Allow, func(e Entry) bool { return e.name == host && e.port == port }) {
		return &Refused{host, Own}
	}
	return nil
}

// numbers reads an address, in the notations of old resolvers too: 127.1, 0177.0.0.1,
// 0x7f000001, 2130706433.
func numbers(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(octal(part), 0, 32)
		room := uint64(1) << 8
		if i == len(parts)-1 {
			room = 1 << (8 * (5 - len(parts)))
		}
		if err != nil || n >= room {
			return netip.Addr{}, false
		}
		all = all*room + n
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}

// octal keeps 0o, 0b and underscores, which only Go reads, from being numbers.
func octal(part string) string {
	digits := strings.TrimPrefix(part, "0x")
	if strings.Trim(digits, "0123456789abcdef") != "" || digits == part && strings.Trim(part, "0123456789") != "" {
		return "none"
	}
	return part
}

// sort is why at is refused; empty: it is not. The server itself is refused whatever is allowed,
// unless its port is named.
func (r Rules) sort(host string, at netip.AddrPort, p Place) Sort {
	a, matches := at.Addr(), func(e Entry) bool { return e.has(host, at) }
	own := p.listens(host, at)
	for _, e := range r.Allow {
		if matches(e) && (!own || e.port != 0) {
			return ""
		}
	}
	switch {
	case own:
		return Own
	case a.IsUnspecified() || in(prefixes("0.0.0.0/8"), a):
		return Unspecified
	case a.IsMulticast() || in(prefixes("240.0.0.0/4"), a):
		return Multicast
	case a.IsLinkLocalUnicast():
		return LinkLocal
	case in(metadata, a):
		return Metadata
	case in(prefixes("64:ff9b:1::/48"), a):
		return Translated
	case p.Shared && (a.IsLoopback() || slices.Contains(p.Here, a)):
		return Machine
	}
	for _, e := range r.Refuse {
		if matches(e) {
			if in(groups["private"], a) {
				return Private
			}
			return Listed
		}
	}
	return ""
}

// listens says whether the server itself would answer there.
func (p Place) listens(host string, at netip.AddrPort) bool {
	if slices.Contains(p.Names, host+":"+strconv.Itoa(int(at.Port()))) {
		return true
	}
	a := at.Addr()
	here := a.IsLoopback() || a.IsUnspecified() || slices.Contains(p.Here, a)
	return slices.ContainsFunc(p.Listening, func(l netip.AddrPort) bool {
		own := l.Addr().Unmap().WithZone("")
		return l.Port() == at.Port() && (own == a || here && own.IsUnspecified() || a.IsUnspecified())
	})
}

// meant are the addresses that one may reach: itself, and those of IPv4 that stand in
// it: mapped, as IPv4 has it in IPv6 (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380).
func meant(a netip.Addr) []netip.Addr {
	a = a.Unmap().WithZone("")
	all := []netip.Addr{a}
	if a.Is4() {
		return all
	}
	b := a.As16()
	switch {
	case in(prefixes("64:ff9b::/96"), a), in(prefixes("::/96"), a) && !a.IsLoopback() && !a.IsUnspecified():
		all = append(all, netip.AddrFrom4([4]byte(b[12:])))
	case in(prefixes("2002::/16"), a):
		all = append(all, netip.AddrFrom4([4]byte(b[2:6])))
	case in(prefixes("2001::/32"), a):
		all = append(all, netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	return all
}

package address

import (
	"net/netip"
	"strings"
	"testing"
)

// place is a server on 10.0.0.5 with a port for all, one for its machine, and a name.
func place(shared bool) Place {
	return Place{
		Listening: []netip.AddrPort{netip.MustParseAddrPort("[::]:7070"), netip.MustParseAddrPort("127.0.0.1:7071")},
		Here:      []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fd00::5")},
		Names:     []string{"muster.example.com:443"},
		Shared:    shared,
	}
}

func TestWhatIsRefused(t *testing.T) {
	for at, want := range map[string][2]Sort{ // of a server for its owner alone, and of one that is shared
		"93.184.216.34:443":                {"", ""},
		"[2606:2800:220:1::1]:443":         {"", ""},
		"10.1.2.3:80":                      {"", ""},
		"192.168.0.1:80":                   {"", ""},
		"[fd00:1::1]:80":                   {"", ""},
		"169.254.169.254:80":               {LinkLocal, LinkLocal},
		"169.254.0.1:443":                  {LinkLocal, LinkLocal},
		"[fe80::1%eth0]:80":                {LinkLocal, LinkLocal},
		"[fe80::1]:80":                     {LinkLocal, LinkLocal},
		"[fd00:ec2::254]:80":               {Metadata, Metadata},
		"168.63.129.16:80":                 {Metadata, Metadata},
		"100.100.100.200:80":               {Metadata, Metadata},
		"0.0.0.0:80":                       {Unspecified, Unspecified},
		"0.1.2.3:80":                       {Unspecified, Unspecified},
		"[::]:80":                          {Unspecified, Unspecified},
		"224.0.0.1:80":                     {Multicast, Multicast},
		"[ff02::1]:80":                     {Multicast, Multicast},
		"255.255.255.255:80":               {Multicast, Multicast},
		"127.0.0.1:80":                     {"", Machine},
		"127.9.9.9:80":                     {"", Machine},
		"[::1]:80":                         {"", Machine},
		"10.0.0.5:80":                      {"", Machine},
		"[fd00::5]:80":                     {"", Machine},
		"127.0.0.1:7070":                   {Own, Own},
		"[::1]:7070":                       {Own, Own},
		"10.0.0.5:7070":                    {Own, Own},
		"0.0.0.0:7071":                     {Own, Own},
		"127.0.0.1:7071":                   {Own, Own},
		"10.0.0.6:7070":                    {"", ""},
		"[::ffff:169.254.169.254]:80":      {LinkLocal, LinkLocal},
		"[::ffff:127.0.0.1]:7071":          {Own, Own},
		"[::ffff:127.0.0.1]:80":            {"", Machine},
		"[::127.0.0.1]:80":                 {"", Machine},
		"[64:ff9b::a9fe:a9fe]:80":          {LinkLocal, LinkLocal},
		"[64:ff9b::127.0.0.1]:7071":        {Own, Own},
		"[64:ff9b::5db8:d822]:80":          {"", ""},
		"[64:ff9b:1::a9fe:a9fe]:80":        {Translated, Translated},
		"[2002:a9fe:a9fe::1]:80":           {LinkLocal, LinkLocal},
		"[2002:7f00:1::1]:80":              {"", Machine},
		"[2001:0:0:0:0:0:5601:5601]:80":    {Unspecified, Unspecified},
		"[2001:0:808:808:0:0:5601:5601]:8": {LinkLocal, LinkLocal}, // the client's own address, inverted
	} {
		for i, shared := range []bool{false, true} {
			got := Sort("")
			if r := (Rules{}).Refusal("a.example.com", netip.MustParseAddrPort(at), place(shared)); r != nil {
				got = r.Sort
			}
			if got != want[i] {
				t.Errorf("%s, shared %v: %q, want %q", at, shared, got, want[i])
			}
		}
	}
	if r := (Rules{}).Refusal("MUSTER.example.com.", netip.MustParseAddrPort("93.184.216.34:443"), place(false)); r == nil || r.Sort != Own {
		t.Errorf("the server's own name: %v", r)
	}
	if r := (Rules{}).Refusal("x", netip.AddrPort{}, place(false)); r == nil || r.Sort != Unknown {
		t.Errorf("no address: %v", r)
	}
}

func TestWhatFlagsAllowAndRefuse(t *testing.T) {
	rules, err := ParseRules(
		[]string{"127.0.0.1:5000", "Hooks.Example.com", "10.2.0.0/16", "[fd00::5]:443", "192.168.7.7", "127.0.0.1:7071", "169.254.10.0/24", "only.example.com:8443"},
		[]string{"private", "93.184.216.0/24", "loopback:9000"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, at string
		want     Sort
	}{
		{"localhost", "127.0.0.1:5000", ""},
		{"localhost", "127.0.0.1:5001", Machine},
		{"hooks.example.com", "10.9.9.9:80", ""},
		{"HOOKS.example.com.", "127.0.0.1:80", ""},
		{"hooks.example.com", "127.0.0.1:7070", Own}, // a name does not lead to the server itself
		{"hooks.example.com.evil.com", "10.9.9.9:80", Private},
		{"only.example.com", "10.9.9.9:8443", ""},
		{"only.example.com", "10.9.9.9:443", Private},
		{"x", "10.2.3.4:80", ""},
		{"x", "10.3.3.4:80", Private},
		{"x", "172.16.0.1:80", Private},
		{"x", "100.64.0.1:80", Private},
		{"x", "192.168.7.7:80", ""},
		{"x", "192.168.7.8:80", Private},
		{"x", "[fd00::5]:443", ""},
		{"x", "[fd00:9::5]:443", Private},
		{"x", "127.0.0.1:7071", ""}, // its port is named
		{"x", "169.254.10.1:80", ""},
		{"x", "169.254.11.1:80", LinkLocal},
		{"x", "93.184.216.34:80", Listed},
		{"x", "[::ffff:93.184.216.34]:80", Listed},
		{"x", "[64:ff9b::10.3.3.4]:80", Private},
	} {
		got := Sort("")
		if r := rules.Refusal(c.host, netip.MustParseAddrPort(c.at), place(true)); r != nil {
			got = r.Sort
		}
		if got != c.want {
			t.Errorf("%s at %s: %q, want %q", c.host, c.at, got, c.want)
		}
	}
	if r := rules.Refusal("x", netip.MustParseAddrPort("127.0.0.1:9000"), place(false)); r == nil || r.Sort != Listed {
		t.Errorf("loopback that is refused on a machine of one's own: %v", r)
	}
}

func TestFlagsThatAreWrong(t *testing.T) {
	for _, text := range []string{"", "127.1", "0x7f000001", "2130706433", "a b", "http://x", "x:", "x:0", "x:99999", "10.0.0.0/40", "a..b", "*.example.com"} {
		if _, err := ParseRules([]string{text}, nil); err == nil || !strings.Contains(err.Error(), "--allow-addresses") || !strings.Contains(err.Error(), "write one like") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseRules(nil, []string{"metadata.google.internal"}); err == nil || !strings.Contains(err.Error(), "is a name") {
		t.Errorf("a name that is refused: %v", err)
	}
}

func TestWhatAProxyIsNotGiven(t *testing.T) {
	for host, want := range map[string]Sort{
		"2130706433": Machine, "0177.0.0.1": Machine, "0x7f.1": Machine, "127.1": Machine, "0x7f000001": Machine, "017700000001": Machine,
		"localhost": Machine, "a.LocalHost.": Machine, "::1": Machine, "0": Unspecified, "0xa9fea9fe": LinkLocal, "2852039166": LinkLocal,
		"169.254.43518": LinkLocal, "example.com": "", "256.1.1.1": "", "1.2.3.4.5": "", "8.8.8.8": "", "0b1111111.1": "", "12_7.1": "",
		"0xyz": "", "muster.example.com": Own,
	} {
		got := Sort("")
		if r := (Rules{}).AsWritten(host, 443, place(true)); r != nil {
			got = r.Sort
		}
		if got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

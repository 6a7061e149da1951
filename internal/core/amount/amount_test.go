package amount

import "testing"

func TestAmounts(t *testing.T) {
	for got, want := range map[string]string{
		Thousandths(0): "0", Thousandths(1500): "1.5", Thousandths(-500): "-0.5", Thousandths(1): "0.001", Thousandths(123_456_789): "123456.789",
		GPUs(0.3334): "0.333", GPUs(8): "8",
		Bytes(0): "0 B", Bytes(1023): "1023 B", Bytes(1024): "1 KiB", Bytes(3 << 29): "1.5 GiB", Bytes(1 << 62): "4096 PiB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

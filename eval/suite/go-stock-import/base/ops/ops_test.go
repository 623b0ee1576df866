package ops

import (
	"strings"
	"testing"

	"example.org/warehouse/stock"
)

func TestImport(t *testing.T) {
	s := stock.NewStore()
	n, err := Import(s, strings.NewReader("bolt,40\nnut,25\nbolt,2\n"))
	if n != 3 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if s.Level("bolt") != 42 || s.Level("nut") != 25 {
		t.Errorf("bolt %d, nut %d", s.Level("bolt"), s.Level("nut"))
	}
}

func TestSwapNeedsEnough(t *testing.T) {
	s := stock.NewStore()
	if _, err := Import(s, strings.NewReader("bolt,3\n")); err != nil {
		t.Fatal(err)
	}
	if err := Swap(s, "bolt", "screw", 4); err == nil {
		t.Error("no error")
	}
	if err := Swap(s, "bolt", "screw", 2); err != nil {
		t.Error(err)
	}
	if s.Level("bolt") != 1 || s.Level("screw") != 2 {
		t.Errorf("bolt %d, screw %d", s.Level("bolt"), s.Level("screw"))
	}
}

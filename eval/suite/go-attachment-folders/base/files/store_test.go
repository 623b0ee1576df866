package files

import (
	"errors"
	"testing"
)

func TestStaysInside(t *testing.T) {
	store := NewStore(t.TempDir())
	if err := store.Save(5, "plan.txt", []byte("plan")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../5/plan.txt"} {
		if _, err := store.Open(4, name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

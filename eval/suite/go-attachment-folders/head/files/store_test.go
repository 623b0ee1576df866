package files

import (
	"errors"
	"io"
	"io/fs"
	"testing"
)

func TestStaysInside(t *testing.T) {
	store := NewStore(t.TempDir())
	if err := store.Save(5, "plan.txt", []byte("plan")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../5/plan.txt", "a/../../5/plan.txt", "../../plan.txt"} {
		if _, err := store.Open(4, name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestFolders(t *testing.T) {
	store := NewStore(t.TempDir())
	if err := store.Save(4, "2024/march/scan.pdf", []byte("scan")); err != nil {
		t.Fatal(err)
	}
	file, err := store.Open(4, "2024/march/scan.pdf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil || string(content) != "scan" {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := store.Open(4, "2024"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder: %v", err)
	}
	if _, err := store.Open(4, "2024/march/scan.pdf/page"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below an attachment: %v", err)
	}
}

package route

import (
	"fmt"
	"sync"
	"testing"
)

func TestConcurrentChanges(t *testing.T) {
	table := NewTable()
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func(backend string) {
			defer wg.Done()
			for j := 0; j < 50; j++ {
				topic := fmt.Sprintf("%s/%d", backend, j)
				table.Set(topic, backend)
				if got, ok := table.Lookup(topic); !ok || got != backend {
					t.Errorf("%s: got %q, %v", topic, got, ok)
				}
			}
		}(fmt.Sprint("b", i))
	}
	wg.Wait()
	if n := len(table.Topics()); n != 400 {
		t.Errorf("%d topics", n)
	}
	if n := table.Remove("b3"); n != 50 {
		t.Errorf("removed %d", n)
	}
	if _, ok := table.Lookup("b3/7"); ok {
		t.Error("b3/7 is still there")
	}
}

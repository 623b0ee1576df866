package watering

import (
	"errors"
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	plan, err := NewPlan(6, 30, On(time.Monday, time.Thursday), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	const layout = "Mon 2006-01-02 15:04"
	for after, want := range map[string]string{
		"Mon 2024-01-29 06:29": "Mon 2024-01-29 06:30",
		"Mon 2024-01-29 06:30": "Thu 2024-02-01 06:30",
		"Sat 2024-12-28 12:00": "Mon 2024-12-30 06:30",
		"Tue 2024-12-31 00:00": "Thu 2025-01-02 06:30",
	} {
		from, err := time.Parse(layout, after)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Next(from).Format(layout); got != want {
			t.Errorf("after %s: got %s, want %s", after, got, want)
		}
	}
}

func TestOneDayAWeek(t *testing.T) {
	plan, err := NewPlan(6, 0, On(time.Sunday), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	sunday := time.Date(2024, time.March, 3, 6, 0, 0, 0, time.UTC)
	if got := plan.Next(sunday); !got.Equal(sunday.AddDate(0, 0, 7)) {
		t.Errorf("got %v", got)
	}
}

func TestNeedsADay(t *testing.T) {
	for _, days := range []Days{0, 1 << 7} {
		if _, err := NewPlan(6, 0, days, time.UTC); !errors.Is(err, ErrPlan) {
			t.Errorf("days %b: %v", days, err)
		}
	}
}

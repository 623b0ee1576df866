# frozen_string_literal: true

require_relative "../lib/reminders"

def check(condition, what)
  raise "failed: #{what}" unless condition
end

TODAY = Date.new(2024, 5, 20)

def invoice(days, **fields)
  Invoice.new(number: "A-#{days}", customer: "c1", cents: 12_305, due_on: TODAY - days, **fields)
end

reminders = Reminders.new(
  [invoice(4), invoice(5), invoice(6), invoice(19), invoice(5, paid_on: TODAY), invoice(19, disputed: true), invoice(61)]
)
check(reminders.due(TODAY).map(&:number) == %w[A-5 A-19], "due after the grace period, then every two weeks")
check(reminders.text(invoice(5), TODAY) == "Invoice A-5 over 123.05 has been due for 5 days.", "text")
check(reminders.text(invoice(47), TODAY).end_with?("before we hand it over."), "last reminder")
puts "ok"

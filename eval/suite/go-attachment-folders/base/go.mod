module example.org/ticketdesk

go 1.19

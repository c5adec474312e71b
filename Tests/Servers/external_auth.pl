#!/usr/bin/perl
# ejabberd's external authentication with the directory's file `passwords`, which has lines of NAME:PASSWORD.
use strict;
use warnings;

my ($directory) = @ARGV;
$| = 1;
while (read(STDIN, my $length, 2) == 2) {
    read(STDIN, my $question, unpack("n", $length));
    my ($what, $name, $domain, $password) = split(/:/, $question, 4);
    my $answer = 0;
    open(my $file, "<", "$directory/passwords") or die;
    while (my $line = <$file>) {
        chomp $line;
        my ($known, $right) = split(/:/, $line, 2);
        next if $known ne $name;
        $answer = 1 if $what eq "isuser" or ($what eq "auth" and $password eq $right);
    }
    close($file);
    print pack("nn", 2, $answer);
}

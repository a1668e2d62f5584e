#!/usr/bin/env perl
# A private quantile in Perl, for dpcp-audit: JSON lines in, JSON lines out (docs/command_protocol.md).
#
#   dpcp-audit check --command 'perl examples/command_quantile.pl' --kind quantile \
#     --randomness seed --option epsilon=1 --alpha 0.1 --n 100 --pure-dp 1
#
# The exponential mechanism (McSherry and Talwar, 2007): a point x of [0, 1] is returned with a
# density proportional to exp(-epsilon/2 * |k - #{scores < x}|), where k is the rank sought. The
# number of scores below x changes by at most one when one score is replaced.
use strict;
use warnings;
use JSON::PP;     # ships with Perl
use List::Util qw(max);
use POSIX qw(ceil);

$| = 1;           # each reply is sent as soon as it is printed
while (my $line = <STDIN>) {
    my $request = decode_json($line);
    my %reply = (id => $request->{id});
    eval { $reply{values} = quantiles($request); 1 } or $reply{error} = "$@";
    print encode_json(\%reply), "\n";
}

sub quantiles {
    my ($request) = @_;
    srand($request->{seed});
    my $epsilon = $request->{options}{epsilon} // die "option epsilon is missing\n";
    my $alpha   = $request->{options}{alpha}   // 0.1;
    my @ends = (0, sort({ $a <=> $b } @{ $request->{scores} }), 1);
    my $rank = ceil((1 - $alpha) * (@ends - 1));

    # Between two neighbouring scores the density is constant.
    my @utility = map { -abs($rank - $_) } 0 .. $#ends - 1;
    my @width   = map { $ends[$_ + 1] - $ends[$_] } 0 .. $#ends - 1;
    my $best    = max(map { $width[$_] > 0 ? $utility[$_] : () } 0 .. $#width);
    my ($total, @sum) = (0);
    for my $i (0 .. $#width) {
        $total += $width[$i] * exp($epsilon / 2 * ($utility[$i] - $best)) if $width[$i] > 0;
        push @sum, $total;
    }
    return [map { draw(\@ends, \@sum) } 1 .. $request->{size}];
}

sub draw {
    my ($ends, $sum) = @_;
    my $mass = rand($sum->[-1]);
    my ($low, $high) = (0, $#$sum);
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        if ($sum->[$middle] > $mass) { $high = $middle } else { $low = $middle + 1 }
    }
    return $ends->[$low] + rand() * ($ends->[$low + 1] - $ends->[$low]);
}

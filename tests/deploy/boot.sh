#!/usr/bin/env bash
# Boot systemd with our units, under `unshare` with namespaces of its own: boot.sh CHECKOUT ENVIRONMENT PREFIX RESULT.
#
# The root directory is an overlay of this machine's own, which nothing outside sees. The environment lies in /opt/thresher,
# its Python in /opt/python, because a unit sees no home directories.
set -euo pipefail
checkout=$1 environment=$2 prefix=$3 result=$4
mount --make-rprivate /
mount -t tmpfs layers /mnt
mkdir /mnt/upper /mnt/work /mnt/root /mnt/upper2 /mnt/work2
mount -t overlay root -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
root=/mnt/root
mount --rbind /dev $root/dev
mount --rbind /sys $root/sys
mount -t proc proc $root/proc
mount -t cgroup2 none $root/sys/fs/cgroup
mount -t tmpfs -o mode=1777 tmp $root/tmp
mount -t tmpfs run $root/run

mkdir -p $root/opt/thresher $root/opt/python $root/opt/checkout $root/result $root/old
mount --rbind "$result" $root/result
mount --rbind "$checkout" $root/opt/checkout
mount --rbind "$prefix" $root/opt/python
mount -t overlay environment -o "lowerdir=$environment,upperdir=/mnt/upper2,workdir=/mnt/work2" $root/opt/thresher
ln -sfn /opt/python/bin/python3 $root/opt/thresher/bin/python3
sed -i "s#^home = .*#home = /opt/python/bin#" $root/opt/thresher/pyvenv.cfg
printf '#!/opt/thresher/bin/python3\nimport sys\nsys.path.insert(0, "/opt/checkout")\nfrom thresher.__main__ import main\nmain()\n' \
    >$root/opt/thresher/bin/thresher
echo /opt/python/lib >$root/etc/ld.so.conf.d/00-python.conf
chroot $root ldconfig

rm -rf $root/etc/systemd/system
mkdir -p $root/etc/systemd/system $root/etc/thresher $root/var/lib/thresher
cp "$checkout"/deploy/systemd/*.service $root/etc/systemd/system
cp "$checkout/deploy/systemd/thresher.sysusers.conf" $root/usr/lib/sysusers.d/thresher.conf
cp "$checkout/deploy/systemd/thresher.tmpfiles.conf" $root/usr/lib/tmpfiles.d/thresher.conf
cp "$checkout/deploy/systemd/thresher.env" $root/etc/thresher
cp "$result/thresher.toml" $root/var/lib/thresher
echo '[default]' >$root/etc/thresher/aws_credentials
mkdir -p $root/home/probe # of nobody: whoever is not kept from home directories may read the file
echo readable >$root/home/probe/readable
chmod a+rx $root/home $root/home/probe && chmod a+r $root/home/probe/readable
cp -r "$result/drop-in" "$root/etc/systemd/system/thresher-crawler@main.service.d"
cat >$root/etc/systemd/system/probe.target <<END
[Unit]
Wants=systemd-sysusers.service systemd-tmpfiles-setup.service thresher-crawler@main.service
END
cd $root
pivot_root . old
umount --lazy /old
exec /usr/bin/env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=probe.target
